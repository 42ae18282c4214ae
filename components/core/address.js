// Limits how often the browser's address is written. Safari refuses more than 100 changes of the address in 30 s with a
// SecurityError, and fast typing changes the address with every letter.

const MOST = 30; // changes that may follow each other at once; later changes are PAUSE apart
const PAUSE = 500; // ms in which one further change is allowed: with MOST at most 90 changes in 30 s
const RETRY = 2000; // ms after a refused change until the next attempt

/** Creates a writer of the address, which always writes the last one; `later(act, ms)` returns its timer. */
export function createAddressWriter({ write, now, later, cancel }) {
  let free = MOST; // changes that are allowed at once
  let since = now();
  let next = null; // the change that waits, {address, isNew}
  let timer = null;
  const attempt = () => {
    cancel(timer);
    timer = null;
    if (!next) return;
    free = Math.min(MOST, free + (now() - since) / PAUSE);
    since = now();
    let wait = free >= 1 ? 0 : (1 - free) * PAUSE;
    if (!wait) {
      free -= 1;
      try {
        const { address, isNew } = next;
        write(address, isNew);
        next = null;
        return;
      } catch {
        wait = RETRY;
      }
    }
    timer = later(attempt, wait);
  };
  return {
    /** Writes an address as soon as it is allowed; `isNew` adds an entry to the browser's history. */
    put(address, isNew) {
      next = { address, isNew: isNew || Boolean(next?.isNew) };
      attempt();
    },
    /** Returns the address that waits, or null. */
    waiting: () => next?.address ?? null,
    /** Drops the waiting address, because the visitor went to another entry of the history. */
    drop() {
      next = null;
    },
    /** Writes the waiting address immediately, even above the limit. */
    flush() {
      free = Math.max(free, 1);
      attempt();
    },
  };
}
