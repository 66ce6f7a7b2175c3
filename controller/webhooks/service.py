"""The service for webhooks. Any replica registers receivers; the leader sends."""

from functools import partial
from typing import ClassVar

from controller.core.cloud_events import source
from controller.runtime.runtime import Runtime
from controller.runtime.service import Leader, Service, forever
from controller.settings import Settings, read_secret
from controller.webhooks.dispatcher import Dispatcher
from controller.webhooks.vault import SETTING, Vault
from controller.webhooks.webhooks import Webhooks


class WebhooksService(Service):
    """`registered` has the receivers. Raises BadSettings."""

    name: ClassVar[str] = "webhooks"

    def __init__(self, settings: Settings, runtime: Runtime, leader: Leader) -> None:
        vault, region = Vault(read_secret(settings.webhook_key_file, SETTING)), source(settings.asn)
        self.registered = Webhooks(runtime, vault, region, plain=settings.webhook_http)
        self._dispatcher, self._leader = Dispatcher(runtime, vault, region), leader

    async def run(self) -> None:
        """Send events, while this replica leads."""
        await forever(partial(self._leader.lead, self._dispatcher.run))
