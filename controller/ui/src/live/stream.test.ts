import { expect, test, vi } from 'vitest';
import { follow, pause, type RegionEvent } from './stream';

const encoder = new TextEncoder();

function answering(status: number, ...chunks: string[]): typeof fetch {
  return vi.fn(() => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
        controller.close();
      },
    });
    return Promise.resolve(new Response(body, { status }));
  });
}

function following(answer: typeof fetch, after: number | null = null) {
  const seen: RegionEvent[] = [];
  const opened = vi.fn();
  const end = follow({
    after,
    signal: new AbortController().signal,
    opened,
    heard: (event) => seen.push(event),
    fetch: answer,
  });
  return { seen, opened, end };
}

test('events are read in whatever pieces they come', async () => {
  const answer = answering(
    200,
    ': weft\n\nid: 7\nevent: member-joi',
    'ned\ndata: {"id":7,"te',
    'xt":"ä"}\n\n',
    ': x\n\n',
  );
  const { seen, opened, end } = following(answer);
  expect(await end).toBe('away');
  expect(opened).toHaveBeenCalledOnce();
  expect(seen).toEqual([{ id: 7, text: 'ä' }]);
});

test('data that is no event is left out', async () => {
  const { seen, end } = following(answering(200, 'data: nonsense\n\ndata: 7\n\ndata: null\n\ndata: {"id":1}\n\n'));
  await end;
  expect(seen).toEqual([{ id: 1 }]);
});

test('another stream has its own address and data', async () => {
  const answer = answering(200, 'event: move\ndata: {"name":"move-1"}\n\ndata: {"id":1}\n\n');
  const seen: string[] = [];
  await follow<{ name: string }>({
    path: '/api/v1/moves/move-1',
    key: 'name',
    after: null,
    signal: new AbortController().signal,
    opened: () => undefined,
    heard: (move) => seen.push(move.name),
    fetch: answer,
  });
  expect(seen).toEqual(['move-1']);
  expect(vi.mocked(answer).mock.calls[0]?.[0]).toBe('/api/v1/moves/move-1');
});

test('a connection goes on after the last event', async () => {
  const answer = answering(200);
  await following(answer, 41).end;
  const headers = vi.mocked(answer).mock.calls[0]?.[1]?.headers as Record<string, string>;
  expect(headers['Last-Event-ID']).toBe('41');
});

test.each([
  [401, 'signed-out'],
  [403, 'forbidden'],
  [503, 'away'],
])('an answer %i is %s', async (status, end) => {
  const { opened, ...found } = following(answering(status));
  expect(await found.end).toBe(end);
  expect(opened).not.toHaveBeenCalled();
});

test('no answer and a silent stream are away', async () => {
  expect(await following(() => Promise.reject(new TypeError('no'))).end).toBe('away');
  const silent = () => Promise.resolve(new Response(new ReadableStream<Uint8Array>()));
  const cut: typeof fetch = (_, options) =>
    new Promise((_resolve, reject) => {
      void silent();
      options?.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
    });
  const end = follow({
    after: null,
    signal: new AbortController().signal,
    opened: () => undefined,
    heard: () => undefined,
    fetch: cut,
    silence: 5,
  });
  expect(await end).toBe('away');
});

test('attempts are further and further apart, up to eight seconds', () => {
  expect([0, 1, 2, 9].map((attempt) => pause(attempt, 1))).toEqual([500, 1000, 2000, 8000]);
  expect(pause(9, 0)).toBe(4000);
});
