// Lists that bots and other servers have written.

/**
 * @template T
 * @param {T[] | undefined} some of any type in fact
 * @returns {T[]}
 */
export const list = (some) => some?.map ? some : [];
