// Attachments in the thread: their part is a file of its own, which is loaded when this operator
// has a file, or the conversation does. The thread does without it meanwhile.

import { store } from '../../shared/store.js';
import { other } from '../shell/pages.js';
import { t } from '../shell/language.js';

/** @typedef {import('../../shared/attachments/attachments.js').Attachments} Attachments */
/** @typedef {typeof import('../attachments/files.js')} Part */

export class FilePart {
  /** @type {Attachments?} */
  loaded = null;
  #pane;
  #on;

  /** @param {import('./pane.js').Pane} pane @param {import('./pane.js').PaneContext} on */
  constructor(pane, on) {
    this.#pane = pane;
    this.#on = on;
    this.key = `chirrup:console:${on.me().id}:files`;
    if (store.get(this.key)) this.bring();
  }

  /**
   * @param {File[]=} files
   * @param {string} type of the event that brought them
   */
  async bring(files = [], type = '') {
    const pane = this.#pane;
    try {
      /** @type {Part} */
      const { start } = await other(() => import(FILES));
      this.loaded = await start(pane, this.#on);
      if (!pane.composer.root.hidden && !pane.isExpecting) this.loaded.bring(files, type);
    } catch {
      pane.actions.notify(t('The server is not responding. Check your connection and try again.'));
    }
  }

  /** The messages with files that are on their way, as items of an outbox. */
  get items() { return this.loaded?.items ?? []; }

  /**
   * The files of a message, nothing while the part is loading, which then draws all anew.
   * @param {import('../../shared/thread.js').Say} model
   */
  draw(model) {
    if (!this.loaded) this.bring();
    return this.loaded?.draw(model);
  }
}
