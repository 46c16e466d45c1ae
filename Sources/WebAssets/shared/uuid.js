// UUID version 7 (RFC 9562 §5.7): time first, so that the keys of an outbox sort in the order they were made.

let last = 0;
let count = 0;

/** Monotonic within this page: 12 bits of counter follow the millisecond. Works outside secure contexts too. */
export function uuid() {
  const now = Date.now();
  if (now > last) { last = now; count = 0; } else if (++count > 0xfff) { last += 1; count = 0; }
  const random = crypto.getRandomValues(new Uint8Array(8));
  random[0] = (random[0] & 0x3f) | 0x80;
  const time = last.toString(16).padStart(12, '0');
  const tail = Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const head = `7${count.toString(16).padStart(3, '0')}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-${head}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}
