// UUID version 7 (RFC 9562 §5.7). The time comes first, so ids sort in the order in which they
// were made. crypto.randomUUID makes version 4 and is missing outside secure contexts.

const digit = () => (crypto.getRandomValues(new Uint8Array(1))[0] % 16).toString(16);

/** Eleven hexadecimal digits are the milliseconds until the year 2527. */
export const uuid = () => `0${Date.now().toString(16)}-7xxx-8xxx-xxxxxxxxxxxx`
  .replace(/.{8}/, '$&-')
  .replace(/x/g, digit);
