// Splits the responses of the events route into blocks, and decides when the next request may be sent.

const OVERTAKE = 150; // ms after which a running request no longer blocks a request with newer events
const RETRY = 3000; // ms from a failed request to the next attempt; meanwhile events are sent through Streamlit

/** Splits received bytes into blocks, each a uint32 length and as many bytes. Returns {blocks, rest}. */
export function unpackBlocks(before, chunk) {
  const bytes = new Uint8Array(before.length + chunk.length);
  bytes.set(before);
  bytes.set(chunk, before.length);
  const view = new DataView(bytes.buffer);
  const blocks = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    const stop = at + 4 + view.getUint32(at, true);
    if (stop > bytes.length) break;
    blocks.push(bytes.subarray(at + 4, stop));
    at = stop;
  }
  return { blocks, rest: bytes.subarray(at) };
}

/** Tracks the running requests. Only one request runs at a time, unless the newest request takes long. Times are in ms of one clock. */
export function createSchedule() {
  const open = new Map(); // number of a request -> time at which it was sent
  let last = 0;
  let failedAt = -Infinity;
  let pausedUntil = -Infinity;
  return {
    begin(now) {
      last += 1;
      open.set(last, now);
      return last;
    },
    end(number) {
      open.delete(number);
    },
    fail(number, now) {
      open.delete(number);
      failedAt = now;
    },
    /** Ends a request that the server asks to send again after some ms. */
    pause(number, ms, now) {
      open.delete(number);
      pausedUntil = Math.max(pausedUntil, now + ms);
    },
    /** Returns the ms until the next request may be sent. */
    delay: now => Math.max(0, pausedUntil - now, ...(open.size ? [Math.max(...open.values()) + OVERTAKE - now] : [])),
    isOpen: now => now - failedAt > RETRY,
  };
}
