// What an operator does with the open conversation by REST, and what is to be said about it: who
// was faster, what the server refused, that an answer is awaited.

import { api } from '../shell/api.js';
import { editTags } from './tags.js';
import { closing, transfer } from './transfer.js';

const SLOW = 700; // ms without an answer after which it is said

export class Actions {
  /** Who won a claim that we lost. */ winner = /** @type {any} */ (null);
  told = ''; busy = '';
  #on;

  /**
   * @param {{id: () => string, row: () => any, me: () => any, sheet: import('./sheet.js').Sheet,
   *   inbox: any, viewers: () => Map<string, any>, changed: () => void, closed: (id: string) =>
   *   void}} on
   */
  constructor(on) { this.#on = on; }

  forget() { this.winner = null; this.told = this.busy = ''; }
  tell(words) { this.winner = null; this.told = words; this.#on.changed(); }

  claim() { return this.#act(api.claim, 'Claiming'); }
  async close(reason = '') {
    const id = this.#on.id();
    const done = await this.#act((it) => api.close(it, reason), 'Closing');
    if (done) this.#on.closed(id);
  }
  reopen() { return this.#act(api.reopen, 'Reopening'); }

  closeWithReason() {
    if (!this.#on.id() || this.#on.row()?.status === 'closed') return;
    closing(this.#on.sheet, (reason) => { this.#on.sheet.close(); this.close(reason); });
  }

  transfer() {
    const row = this.#on.row();
    if (!row || row.status === 'closed') return;
    const { me, sheet, viewers } = this.#on;
    const now = { me: me(), assignee: row.assignee, viewers: new Set(viewers().keys()) };
    return transfer(sheet, now, async (to, name, reason) => {
      const done = await this.#act((id) => api.transfer(id, to, reason), `Transferring to ${name}`);
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
        return answer?.conversation ? answer : { conversation: { ...row, tags } };
      }, 'Saving tags');
      if (done) sheet.close();
    });
  }

  /** Whether it was done. */
  async #act(work, doing) {
    const id = this.#on.id();
    if (!id) return false;
    this.forget();
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

  #refused(error) {
    this.winner = error.body?.winner ?? null;
    if (this.winner) return;
    this.told = error.status
      ? error.message
      : 'The server is not responding. Nothing was changed.';
  }
}
