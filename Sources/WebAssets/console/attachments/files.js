// Attachments in the console: a file of its own, see FilePart. It has its own copy of the modules
// that it shares with the console; nothing but what the thread passes is common to both.

import { Attachments } from '../../shared/attachments/attachments.js';
import { replyOf } from '../../shared/attachments/upload.js';
import { say, speakFiles } from '../../shared/attachments/words.js';
import { store } from '../../shared/store.js';

/** The version of the sources, see `Pages`. */
export const build = BUILD;

const ADMIN = '/api/v1/admin';
/** What the gateway allows if its settings cannot be read; it judges each upload itself. */
const DEFAULTS = { enabled: true, bytes_max: 20 << 20, types: /** @type {string[]} */ ([]) };

/** @typedef {import('../thread/pane.js').Pane} Pane */
/** @typedef {import('../thread/pane.js').PaneContext} PaneContext */

/**
 * By the thread: after a log-out there is another one.
 * @type {WeakMap<Pane, Promise<Attachments>>}
 */
const started = new WeakMap();

/**
 * @param {Pane} pane
 * @param {PaneContext} on
 */
export function start(pane, on) {
  const known = started.get(pane) ?? begin(pane, on);
  started.set(pane, known);
  known.catch(() => started.delete(pane));
  return known;
}

/** That of the console's own texts, see language.js. */
function locale() {
  const { lang } = document.documentElement;
  const wanted = navigator.languages.find((tag) => tag.startsWith(lang)) ?? lang;
  return lang === 'ar' ? `${wanted}-u-nu-latn` : wanted;
}

/** @returns {Promise<FileLimits>} */
async function limitsNow() {
  try {
    const response = await fetch(`${ADMIN}/settings`);
    const { settings } = await response.json();
    return settings?.attachments ?? DEFAULTS;
  } catch { return DEFAULTS; }
}

/**
 * @param {string} id of the conversation
 * @returns {import('../../shared/attachments/upload.js').Request}
 */
const requests = (id) => async (method, path, body, signal) => {
  const isBytes = body instanceof Blob;
  return replyOf(await fetch(`${ADMIN}/live-chat/conversations/${id}/${path}`, {
    method,
    signal,
    headers: body && {
      'content-type': isBytes ? 'application/octet-stream' : 'application/json',
    },
    body: isBytes ? body : body && JSON.stringify(body),
  }));
};

/**
 * @param {Pane} pane
 * @param {PaneContext} on
 */
async function begin(pane, on) {
  const me = on.me();
  const { composer, log, files: { key } } = pane;
  const [limits] = await Promise.all([limitsNow(), speakFiles('', locale())]);
  const entries = () => (pane.view.excerpt ?? pane.talk)?.entries ?? [];
  const files = new Attachments({
    origin: '',
    name: `chirrup:console:${me.id}:parcels`,
    root: document,
    css: FILE_STYLES,
    log,
    here: () => pane.id || null,
    begin: async () => pane.id,
    request: requests,
    limits: () => limits,
    receiver: () => pane.name,
    refusal: () => (composer.isNote ? 'no_note' : ''),
    place: (tray) => {
      const after = composer.root.querySelector('.modes');
      const next = after?.nextElementSibling;
      if (next?.matches('.tray-place')) next.replaceWith(tray); else after?.after(tray);
    },
    layer: (dialog) => document.body.append(dialog),
    changed: on.changed,
    filled: () => {},
    redraw: () => {}, // another language is another load of the page
    focus: () => composer.focus(),
    sent: () => {},
    committed: (item, stored) => {
      if (pane.id === item.session) pane.talk?.commit(item, stored, me.name);
    },
    entry: (id) => pane.talk?.ids.get(id),
    entries,
    senderOf: ({ sender }) => (sender.id === me.id ? say('you') : sender.name ?? ''),
    flag: (is) => { if (is) store.set(key, 1); else store.remove(key); },
    isOver: () => false, // a closed conversation can be reopened
  });
  pane.files.loaded = files;
  await files.restore();
  // messages that were drawn without their files
  const drawing = /** @type {import('../../shared/dom.js').Drawing} */ (log);
  drawing.replaceChildren();
  drawing.drawn = undefined;
  on.changed();
  return files;
}
