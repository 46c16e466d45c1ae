// Attachments as a page has them: a tray for each conversation, messages on their way, the files in
// the log, the drop zone and the viewer. Widget and console load it when it is first needed, each
// in a file of its own.

import { el, paths } from '../dom.js';
import { committed, isPicture } from './bubble.js';
import { dropZone } from './drop.js';
import { causeOf } from './limits.js';
import { Links } from './links.js';
import { pending } from './pending.js';
import { preview } from './picture.js';
import { Sending } from './sending.js';
import { Tray } from './tray.js';
import { view } from './viewer.js';
import { say, speakFiles } from './words.js';

Object.assign(paths, {
  alert: 'M10 3.2l7.2 12.8H2.8L10 3.2zM10 8.2v3.6M10 13.9v.01',
  archive: 'M3.5 4.5h13v3h-13zM4.5 7.5V16h11V7.5M8.5 10.5h3',
  audio: 'M7.5 15V5l8-1.5v10M7.5 15a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM15.5 13.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0z',
  back: 'M11.5 4.5L6 10l5.5 5.5',
  download: 'M10 3.5v9M6 9l4 4 4-4M4 16.5h12',
  file: 'M5.5 3h6L15.5 7v9a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11.5 3v4h4',
  image: 'M4.5 4h11A1.5 1.5 0 0 1 17 5.5v9a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 14.5v-9A1.5 1.5 0 0 1 4.5 4zM3 13.5l4-4 4 4 2.5-2.5 3.5 3.5M13 7.6v.01',
  next: 'M8.5 4.5L14 10l-5.5 5.5',
  video: 'M4 5h8.5A1.5 1.5 0 0 1 14 6.5v7a1.5 1.5 0 0 1-1.5 1.5H4zM14 9l3.5-2v6L14 11',
  zoom: 'M9 3.75a5.25 5.25 0 1 0 0 10.5 5.25 5.25 0 0 0 0-10.5zM13 13l4 4M9 6.8v4.4M6.8 9h4.4',
});

/** @typedef {import('./shelf.js').Parcel} Parcel */
/** @typedef {import('./sending.js').Stored} Stored */
/** @typedef {import('../thread.js').Say} Say */
/** @typedef {import('../outbox.js').Item & {state: string}} FileItem a parcel, for the thread */

/**
 * The page that has the conversation. `here` is the conversation in view, `begin` returns one for a
 * message that has none yet; `place` puts the tray beside the text; `layer` is above all; `entries`
 * are those in the log; `filled` is called when the tray has changed; `redraw` draws the log anew;
 * `refusal` is why nothing can be attached now; `isOver` says whether only another conversation
 * takes the message.
 * @typedef {{origin: string, name: string, root: Document | ShadowRoot, css: string,
 *   log: HTMLElement, here: () => string?, begin: () => Promise<string>,
 *   request: (session: string) => import('./upload.js').Request, limits: () => FileLimits,
 *   receiver: () => string, refusal: () => import('./words.js').FileWord | '',
 *   place: (tray: HTMLElement) => void, layer: (dialog: HTMLElement) => void,
 *   changed: () => void, filled: () => void, redraw: () => void, focus: () => void,
 *   sent: () => void,
 *   committed: (item: FileItem, stored: Stored) => void,
 *   entry: (id: string) => Entry | undefined, entries: () => Entry[],
 *   senderOf: (entry: Entry) => string, flag: (is: boolean) => void,
 *   isOver: (code: string) => boolean}} FileHost
 */

export class Attachments {
  #on;
  #links;
  #zone;
  /** @type {Sending} */
  #sending;
  /** @type {Map<string, Tray>} */
  #trays = new Map();
  /**
   * Where the files of a message are drawn, by its id.
   * @type {Map<string, {node: HTMLElement, update: () => void}>}
   */
  #drawn = new Map();
  /** @type {Map<string, HTMLCanvasElement>} */
  #previews = new Map();

  /** @param {FileHost} on */
  constructor(on) {
    this.#on = on;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(on.css);
    on.root.adoptedStyleSheets = [...on.root.adoptedStyleSheets, sheet];
    this.#links = new Links(on.origin, async (ids) => {
      const reply = await on.request(on.here() ?? '')('POST', 'attachments/links', { ids });
      return /** @type {import('./links.js').FileLink[]} */ (reply.body?.links ?? []);
    });
    this.#zone = dropZone(on.log, () => ({ name: on.receiver(), bytes: on.limits().bytes_max }));
    this.#sending = new Sending({
      name: on.name,
      request: on.request,
      session: on.begin,
      changed: (parcel) => this.#changed(parcel),
      committed: (parcel, stored) => this.#committed(parcel, stored),
      flag: on.flag,
    });
    this.show();
  }

  /**
   * Another language was chosen: draws all anew in it.
   * @param {string} locale
   */
  async speak(locale) {
    try { await speakFiles(this.#on.origin, locale); } catch { return; } // it stays in the old one
    for (const tray of this.#trays.values()) tray.speak();
    this.#on.redraw();
  }

  restore() { return this.#sending.restore(); }
  close() { this.#sending.close(); }

  /** The tray of the conversation in view; of a visitor's first, before it has its id, ''. */
  get #tray() {
    const key = this.#on.here() ?? '';
    const first = this.#trays.get('');
    if (key && first && !this.#trays.has(key)) {
      this.#trays.set(key, first);
      this.#trays.delete('');
    }
    let tray = this.#trays.get(key);
    if (!tray) {
      const { filled, focus, limits } = this.#on;
      const hasRoom = (/** @type {number} */ bytes) => this.#sending.hasRoom(bytes);
      tray = new Tray({ changed: filled, focus, limits, hasRoom });
      this.#trays.set(key, tray);
    }
    return tray;
  }

  /** Another conversation is in view. */
  show() { this.#on.place(this.#tray.root); }

  /** Whether the tray has something to send. */
  get isFilled() { return this.#tray.files.length > 0; }

  /**
   * @param {File[]} files
   * @param {string} type of the event that brought them
   */
  bring(files, type) {
    const word = this.#on.refusal();
    if (type === 'dragover') return word || this.#zone.show();
    this.#zone.hide();
    if (!files.length) return;
    // After a reload the part may have been loaded before the conversation.
    if (!this.#tray.root.isConnected) this.show();
    if (word) this.#tray.refuse(say(word)); else this.#tray.add(files, type === 'paste');
  }

  /**
   * Sends the tray with a text. Returns whether there was something in it.
   * @param {string} body
   */
  send(body) {
    const files = this.#tray.take();
    if (!files.length) return false;
    this.#sending.add(this.#on.here(), body, files).then(this.#on.changed);
    this.#on.sent();
    this.#on.changed();
    return true;
  }

  // MARK: the log

  /**
   * The parcels as items of an outbox, for the thread.
   * @returns {FileItem[]}
   */
  get items() {
    return this.#sending.parcels.map((parcel) => ({
      id: parcel.id,
      session: parcel.session,
      kind: 'file',
      body: bodyOf(parcel),
      payload: payloadOf(parcel),
      at: parcel.at,
      tries: 0,
      failed: parcel.failed,
      state: parcel.failed ? 'failed' : this.#sending.waiting.has(parcel.id) ? 'waiting' : 'sending',
    }));
  }

  /**
   * The files of a message, committed or not.
   * @param {Pick<Say, 'key' | 'payload' | 'seq'>} model
   */
  draw({ key, payload, seq }) {
    const node = el('div.files');
    const parcel = this.#sending.parcels.find(({ id }) => id === key);
    if (parcel && seq === undefined) this.#drawPending(parcel, node);
    else this.#fill(node, payload);
    return node;
  }

  /** @param {HTMLElement} node @param {Payload | undefined} payload */
  #fill(node, payload) {
    const files = listed(payload?.attachments);
    node.replaceChildren(...committed(files, {
      links: this.#links,
      open: (id) => this.#view(id),
      failed: (words) => this.#tray.refuse(words),
    }));
  }

  /** @param {Parcel} parcel @param {HTMLElement} node */
  #drawPending(parcel, node) {
    const { nodes, update } = pending(parcel, this.#sending, ({ id }) => this.#previews.get(id));
    node.replaceChildren(...nodes);
    this.#drawn.set(parcel.id, { node, update });
    for (const file of parcel.files) this.#preview(parcel, file);
  }

  /**
   * Draws a picture once, and the parcel again with it.
   * @param {Parcel} parcel
   * @param {import('./shelf.js').ParcelFile} file
   */
  async #preview(parcel, { id, blob }) {
    if (this.#previews.has(id)) return;
    const drawn = await preview(blob);
    if (!drawn) return;
    this.#previews.set(id, drawn.canvas);
    const known = this.#drawn.get(parcel.id);
    if (known && this.#sending.parcels.includes(parcel)) this.#drawPending(parcel, known.node);
  }

  /**
   * Why a message was not sent, and what can be done; undefined if it is none with files.
   * @param {string} key
   */
  failed(key) {
    const parcel = this.#sending.parcels.find(({ id }) => id === key);
    if (!parcel) return undefined;
    const code = parcel.failed ?? '';
    const file = parcel.files.find(({ id }) => id === parcel.failedFile);
    const words = causeOf(code, file?.name ?? '', this.#on.limits());
    /** @type {(words: string, click: () => void) => HTMLElement} */
    const action = (words, click) => el('button.link', { type: 'button', click }, words);
    return [
      el('span', { role: 'alert' }, words),
      action(say('retry'), () => { this.#sending.retry(parcel, this.#on.isOver(code)); }),
      action(say('delete'), () => { this.#sending.remove(parcel); this.#on.focus(); }),
    ];
  }

  /** @param {Parcel} parcel */
  #changed(parcel) {
    const known = this.#drawn.get(parcel.id);
    if (known && parcel.files.length !== known.node.querySelectorAll('.upload').length) {
      this.#drawPending(parcel, known.node);
    } else known?.update();
    this.#on.changed();
  }

  /** @param {Parcel} parcel @param {Stored=} stored */
  #committed(parcel, stored) {
    const item = {
      ...this.items.find(({ id }) => id === parcel.id),
      id: parcel.id, session: parcel.session, kind: 'file', body: bodyOf(parcel), at: parcel.at,
      payload: payloadOf(parcel), tries: 0, state: 'sent', failed: undefined,
    };
    if (stored) this.#on.committed(item, stored);
    const known = this.#drawn.get(parcel.id);
    this.#drawn.delete(parcel.id);
    for (const { id } of parcel.files) this.#previews.delete(id);
    // with the sizes that the sender's own browser has measured, if the gateway has none
    if (known) this.#fill(known.node, this.#on.entry(parcel.id)?.payload ?? item.payload);
    this.#on.changed();
  }

  // MARK: the viewer

  /** @param {string} id of a picture */
  #view(id) {
    const shown = this.#on.entries().flatMap((entry) => listed(entry.payload?.attachments).map(
      (file) => ({ ...file, by: this.#on.senderOf(entry), sent: entry.at })
    )).filter(isPicture);
    view(shown, id, this.#links, this.#on.layer);
  }
}

/**
 * The text, or what the gateway writes instead of one: lists and notifications show it.
 * @param {Parcel} parcel
 */
const bodyOf = ({ body, files }) => body || `📎 ${files.map(({ name }) => name).join(', ')}`;

/** @param {Parcel} parcel @returns {Payload} */
const payloadOf = ({ files, body }) => ({
  caption: !!body,
  attachments: files.map(({ id, name, type, bytes, alt, width, height, stored }) => (
    { id, name, type, bytes, alt, width, height, ...stored }
  )),
});

/**
 * The files of a payload; only the gateway makes the kind `file`, and parts of the wrong type are
 * left out all the same.
 * @param {AttachmentFile[] | undefined} files
 */
const listed = (files) => (Array.isArray(files) ? files : []).filter(
  (file) => typeof file?.id === 'string' && typeof file.name === 'string'
);
