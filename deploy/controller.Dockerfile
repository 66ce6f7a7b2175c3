# The controller and the `weft` command (`docker compose exec controller weft vcp list`), no root.
FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/weft --create-home --shell /usr/sbin/nologin weft \
 && install -d -o weft -g weft -m 0750 /run/weft
WORKDIR /opt/weft
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY controller controller
COPY migrations migrations
COPY policies policies
RUN pip install --no-cache-dir -c constraints.txt -e '.[controller,cli,postgres]'
USER weft
WORKDIR /var/lib/weft
VOLUME /var/lib/weft
EXPOSE 8080 8443
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["weft-controller"]
