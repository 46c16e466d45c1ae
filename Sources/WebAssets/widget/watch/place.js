// What the loader passes.

/**
 * @typedef {{origin: string, given: import('../app.js').Given, key: string, root: ShadowRoot,
 *   api: object, known: Record<string, unknown>, load: () => Promise<import('../app.js').App>}}
 *   Place `key` begins the keys of the storage; `root` has the launcher, and the chat once it is
 *   loaded; `api` is the page's until `destroy`; `known` has the visitor's attributes
 */

/** @param {Place} place */
export const isDestroyed = ({ api }) => window.chirrup !== api;
