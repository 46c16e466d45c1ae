// The address of the open page, as operators see it.

const LONG = 300; // characters of an address or a title

/** @param {string} text */
export const cut = (text) => text.slice(0, LONG);

/** Without its query, which may contain secrets; with the route of a hash router. */
export const address = () => cut(
  location.origin + location.pathname + (/^#!?\/[^?]*/.exec(location.hash)?.[0] ?? '')
);
