// UUID version 7 (RFC 9562 §5.7): time first, so that the keys of an outbox sort in the order they
// were made. Without crypto.randomUUID, which is missing outside secure contexts.

export function uuid() {
  const time = Date.now().toString(16).padStart(12, '0');
  const digit = () => (crypto.getRandomValues(new Uint8Array(1))[0] % 16).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7xxx-8xxx-xxxxxxxxxxxx`.replace(/x/g, digit);
}
