// Attachments in the widget: a file of its own, which the app loads when the visitor has a file, or
// the conversation does. It has its own copy of the modules that it shares with the app; nothing
// but what the app passes is common to both.

import { Attachments } from '../shared/attachments/attachments.js';
import { replyOf } from '../shared/attachments/upload.js';
import { say, speakFiles } from '../shared/attachments/words.js';
import { store } from '../shared/store.js';

/** @typedef {import('./app.js').App} App */

const LOOK_EVERY = 200; // ms between two looks whether a conversation has begun

/** @type {Promise<Attachments>?} */
let started = null;

/**
 * @param {App} app
 * @param {string} origin of the gateway
 * @param {string} prefix of the keys of this site's storage
 */
export function start(app, origin, prefix) {
  started ??= begin(app, origin, prefix).catch((error) => { started = null; throw error; });
  return started;
}

/**
 * @param {App} app
 * @param {string} origin
 * @param {string} prefix
 */
async function begin(app, origin, prefix) {
  await speakFiles(origin, app.given.locale || app.view.root.lang || navigator.language);
  const { view, session } = app;
  const files = new Attachments({
    origin,
    name: `${prefix}parcels`,
    root: app.root,
    css: FILE_STYLES,
    log: view.log,
    here: () => session.talk?.session ?? null,
    begin: () => conversation(app),
    request: (id) => requests(app, origin, id),
    limits: () => app.config.attachments ?? { enabled: true, bytes_max: 20 << 20, types: [] },
    receiver: () => '',
    refusal: () => (app.config.attachments?.enabled === false ? 'off' : ''),
    place: (tray) => {
      const { firstElementChild: first } = view.form;
      if (first?.matches('.tray-place')) first.replaceWith(tray); else view.form.prepend(tray);
    },
    layer: (dialog) => app.root.append(dialog),
    changed: () => app.screen.changed(),
    filled: () => view.fit(),
    redraw: () => app.screen.speak(),
    focus: () => view.text.focus(),
    sent: () => { session.talk?.typing.type(''); app.screen.thread.toEnd(); },
    committed: (item, stored) => {
      if (session.talk?.session === item.session) session.talk?.commit(item, stored);
    },
    entry: (id) => session.talk?.ids.get(id),
    entries: () => session.talk?.entries ?? [],
    senderOf: ({ sender }) => (sender.kind === 'visitor' ? say('you') : sender.name ?? ''),
    flag: (is) => { if (is) store.set(`${prefix}files`, 1); else store.remove(`${prefix}files`); },
    isOver: (code) => /^(session_closed|no_such_session)$/.test(code),
  });
  app.files = files;
  await files.restore();
  app.screen.speak(); // messages that were drawn without their files
  return files;
}

/**
 * The conversation that a message begins, as soon as there is a connection.
 * @param {App} app
 */
async function conversation({ session }) {
  if (session.isClosed) session.renew();
  session.link.start();
  while (!session.talk) await new Promise((done) => { setTimeout(done, LOOK_EVERY); });
  return session.talk.session;
}

/**
 * @param {App} app
 * @param {string} origin
 * @param {string} id of the conversation
 * @returns {import('../shared/attachments/upload.js').Request}
 */
const requests = ({ visitor }, origin, id) => async (method, path, body, signal) => {
  const isBytes = body instanceof Blob;
  /** @param {boolean=} renew */
  const send = async (renew) => fetch(`${origin}/api/v1/widget/sessions/${id}/${path}`, {
    method,
    signal,
    headers: {
      authorization: `Bearer ${await visitor.token(renew)}`,
      ...body && { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' },
    },
    body: isBytes ? body : body && JSON.stringify(body),
  });
  let response = await send();
  if (response.status === 401) response = await send(true);
  return replyOf(response);
};
