// UUID version 7 (RFC 9562 §5.7): time first, so that the keys of an outbox sort in the order they
// were made. Without crypto.randomUUID, which is missing outside secure contexts.

export function uuid() {
  const random = crypto.getRandomValues(new Uint8Array(10));
  const digits = [
    Date.now().toString(16).padStart(12, '0'),
    ...Array.from(random, (byte) => byte.toString(16).padStart(2, '0'))
  ];
  return digits.join('').replace(/(.{8})(.{4}).(.{3}).(.{3})(.*)/, '$1-$2-7$3-8$4-$5');
}
