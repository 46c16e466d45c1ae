// The REST actions on the open conversation (claim, transfer, close, reopen, tags), and the notice
// about the last one: a colleague was faster, the server refused it, the answer takes long.

import { api, Problem, reasonOf, wordsOf } from '../shell/api.js';
import { uuid } from '../../shared/uuid.js';
import { t } from '../shell/language.js';
import { chooseMacro } from './macros.js';
import { editTags } from './tags.js';
import { closing, transfer } from './transfer.js';

const SLOW = 700; // ms; a longer request is shown

export class Actions {
  /**
   * The operator who claimed the conversation before us.
   * @type {Named?}
   */
  winner = null;
  notice = '';
  /** The action that takes long, as words. */
  busy = '';
  #on;

  /**
   * @param {{id: () => string, row: () => ConversationRow?, me: () => Person,
   *   sheet: import('./sheet.js').Sheet, inbox: import('../inbox/inbox.js').Inbox,
   *   viewers: () => Map<string, Person>, changed: () => void, closed: (id: string) => void,
   *   removed: (row: ConversationRow?, id: string) => void}} on
   *   `id` returns '' while no conversation is open
   */
  constructor(on) { this.#on = on; }

  clear() { this.winner = null; this.notice = this.busy = ''; }

  /** @param {string} words */
  notify(words) { this.winner = null; this.notice = words; this.#on.changed(); }

  claim() { return this.#act(api.claim, t('Claiming')); }

  /** @param {string=} reason */
  async close(reason = '') {
    const id = this.#on.id();
    const done = await this.#act((it) => api.close(it, reason), t('Closing'));
    if (done) this.#on.closed(id);
  }

  /** @param {string} title */
  retitle(title) { return this.#act((id) => api.retitle(id, title), t('Saving the title')); }

  /** The list loses the row at once; the gateway's event may arrive later. */
  async remove() {
    const id = this.#on.id();
    const row = this.#on.row();
    if (!id) return;
    this.clear();
    try {
      await api.remove(id);
      this.#on.removed(row, id);
    } catch (error) {
      if (id === this.#on.id()) this.#refused(error);
      this.#on.changed();
    }
  }

  reopen() { return this.#act(api.reopen, t('Reopening')); }

  closeWithReason() {
    if (!this.#on.id() || this.#on.row()?.status === 'closed') return;
    closing(this.#on.sheet, (reason) => { this.#on.sheet.close(); this.close(reason); });
  }

  transfer() {
    const row = this.#on.row();
    if (!row || row.status === 'closed') return;
    const { me, sheet, viewers } = this.#on;
    const { assignee, team } = row;
    const now = { me: me(), assignee, team, viewers: new Set(viewers().keys()) };
    return transfer(sheet, now, async (to, name, reason) => {
      const done = await this.#act((id) => api.transfer(id, to, reason), t('Transferring to {}', name));
      if (done) sheet.close();
    });
  }

  tags() {
    const row = this.#on.row();
    if (!row) return;
    const { sheet } = this.#on;
    return editTags(sheet, row.tags ?? [], async (tags) => {
      const done = await this.#act(async (id) => {
        const answer = await api.setTags(id, tags);
        return { conversation: answer?.conversation ?? { ...row, tags } };
      }, t('Saving tags'));
      if (done) sheet.close();
    });
  }

  macro() {
    const { sheet } = this.#on;
    if (!this.#on.id()) return;
    return chooseMacro(sheet, (macro) => { sheet.close(); this.run(macro); });
  }

  /** @param {Macro} macro */
  run(macro) {
    const key = uuid();
    return this.#act(async (id) => {
      const { results: [result] } = await api.runMacro(macro.id, [id], key);
      const { problem, actions_done: done } = result;
      const answer = await api.one(id);
      if (problem) {
        const words = wordsOf(problem);
        this.notice = done
          ? t('Action {1} of “{2}” was refused, {3} before it done: {4}', done + 1, macro.name, done, words)
          : t('Action {1} of “{2}” was refused: {3}', 1, macro.name, words);
      }
      return answer;
    }, t('Running “{}”', macro.name));
  }

  /**
   * Returns whether it succeeded.
   * @param {(id: string) => Promise<{conversation: ConversationRow}>} work
   * @param {string} doing as words
   */
  async #act(work, doing) {
    const id = this.#on.id();
    if (!id) return false;
    this.clear();
    const late = setTimeout(() => {
      if (id !== this.#on.id()) return;
      this.busy = `${doing}…`;
      this.#on.changed();
    }, SLOW);
    try {
      const { conversation } = await work(id);
      this.#on.inbox.put(conversation);
      return true;
    } catch (error) {
      if (id === this.#on.id()) this.#refused(error);
      return false;
    } finally {
      clearTimeout(late);
      if (id === this.#on.id()) this.busy = '';
      this.#on.changed();
    }
  }

  /** @param {unknown} error */
  #refused(error) {
    this.winner = error instanceof Problem ? error.body.winner ?? null : null;
    if (this.winner) return;
    this.notice = reasonOf(error, t('The server is not responding. Nothing was changed.'));
  }
}
