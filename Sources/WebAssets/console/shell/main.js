// The entry point: resumes the session of the cookie, or shows the login. A password that an
// administrator has given is changed first.

import './icons.js';
import { api, statusOf } from './api.js';
import { App } from './app.js';
import { login } from './login.js';
import { choosePassword } from './own-password.js';

/** @param {string=} notice why the session ended */
async function boot(notice = '') {
  if (!notice && api.known) {
    try { return enter(await api.token()); } catch (error) {
      if (statusOf(error) === 401) notice = 'Your session ended. Drafts are kept on this device.';
    }
  }
  show(login(notice, enter));
}

/**
 * @param {Login} session
 * @param {string=} given the password of this login
 */
function enter(session, given = '') {
  if (!session.must_change_password) return new App(session, boot).start();
  show(choosePassword(given, async () => enter(await api.token()), leave));
}

/** @param {string=} notice */
async function leave(notice) {
  await api.logout().catch(() => {});
  api.know(false);
  boot(notice);
}

/** @param {{root: HTMLElement, focus: () => void}} gate */
function show(gate) {
  document.body.replaceChildren(gate.root);
  gate.focus();
}

boot();
