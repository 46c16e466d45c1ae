// UUID version 7 (RFC 9562 §5.7): time first, so that the keys of an outbox sort in the order they
// were made. Without crypto.randomUUID, which is missing outside secure contexts.

const digit = () => (crypto.getRandomValues(new Uint8Array(1))[0] % 16).toString(16);

/** Eleven hexadecimal digits are the milliseconds until the year 2527. */
export const uuid = () => `0${Date.now().toString(16)}-7xxx-8xxx-xxxxxxxxxxxx`
  .replace(/.{8}/, '$&-')
  .replace(/x/g, digit);
