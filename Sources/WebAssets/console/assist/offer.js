// Whether the workspace has drafts written (suggested replies, summaries, translations). Only then
// their controls are loaded, from the file of the rare pages.

import { api } from '../shell/api.js';
import { rarePages } from '../shell/pages.js';

/** @type {WeakSet<object>} */
const offered = new WeakSet();

/**
 * Adds the controls once. Without an answer it is tried again at the next connection.
 * @param {import('../shell/app.js').App} app
 */
export async function offer(app) {
  if (offered.has(app)) return;
  try {
    const { uses } = await api.uses();
    if (uses.length) (await rarePages()).assist(app, uses);
    offered.add(app);
  } catch (error) { console.info('chirrup', error); }
}
