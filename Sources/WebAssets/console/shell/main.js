// The way into the console: a session that is still there, the login, a password of one's own.

import './icons.js';
import { api } from './api.js';
import { App } from './app.js';
import { login } from './login.js';
import { choosePassword } from './own-password.js';

async function boot(told = '') {
  if (!told && api.known) {
    try { return enter(await api.token()); } catch (error) {
      if (/** @type {any} */ (error).status === 401) {
        told = 'Your session ended. Drafts are kept on this device.';
      }
    }
  }
  show(login(told, enter));
}

/**
 * A password that somebody else has given is changed before anything else can be done.
 * @param {any} session
 * @param {string=} given
 */
function enter(session, given = '') {
  if (!session.must_change_password) return new App(session, boot).start();
  show(choosePassword(given, async () => enter(await api.token()), leave));
}

/** @param {string=} told */
async function leave(told) {
  await api.logout().catch(() => {});
  api.know(false);
  boot(told);
}

/** @param {{root: HTMLElement, focus: () => void}} gate */
function show(gate) {
  document.body.replaceChildren(gate.root);
  gate.focus();
}

boot();
