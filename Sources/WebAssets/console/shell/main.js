// The entry point: resumes the session of the cookie, or shows the login. A password that an
// administrator has given is changed first; then, if the workspace requires it, a second factor is
// set up.

import './icons.js';
import { requestAhead } from '../inbox/inbox.js';
import { api, statusOf } from './api.js';
import { App } from './app.js';
import { codeForm } from './code-form.js';
import { t } from './language.js';
import { login, remember } from './login.js';
import { rarePages } from './pages.js';
import { invitation, signOn, takeAnswer, troubleOf } from './sign-on.js';

/** @param {string=} notice why the session ended */
async function boot(notice = '') {
  if (!notice && api.known) {
    const ahead = requestAhead(); // beside the token: a round trip less until the list
    try { return enter(await api.token(), '', ahead); } catch (error) {
      if (statusOf(error) === 401) notice = t('Your session ended. Drafts are kept on this device.');
    }
  }
  if (!notice && invitation()) return showSignOn({ workspace: invitation() });
  showLogin(notice);
}

/** @param {string} notice */
function showLogin(notice) {
  show(login(notice, proceed, () => showSignOn({}), (email) => {
    showRare((pages) => pages.forgotten(email, () => showLogin('')));
  }));
}

/**
 * After the first step of a login.
 * @param {Login | LoginChallenge} step
 * @param {string=} password
 */
function proceed(step, password) {
  if ('challenge' in step) show(codeForm(step, enter, boot));
  else enter(step, password);
}

/** @param {{workspace?: string, trouble?: string}} start */
function showSignOn(start) {
  show(signOn(start, () => showLogin('')));
}

/**
 * The browser comes back from the identity provider.
 * @param {ProviderAnswer} answer
 */
async function arrive(answer) {
  try { proceed(await api.finishProvider(answer)); } catch (error) {
    showSignOn({ trouble: troubleOf(error) });
  }
}

/**
 * @param {Login} session
 * @param {string=} given the password of this login
 * @param {import('../inbox/inbox.js').Ahead=} ahead
 */
function enter(session, given = '', ahead = undefined) {
  remember(session);
  const again = async () => enter(await api.token());
  if (session.must_change_password) {
    showRare((pages) => pages.choosePassword(given, again, leave));
  } else if (session.must_add_second_factor) {
    showRare((pages) => pages.enrolmentGate(given, again, leave));
  }
  else new App(session, boot).start(ahead);
}

/**
 * Shows a form that few operators see, and seldom.
 * @param {(pages: import('./pages.js').RarePages) => Gate} make
 */
async function showRare(make) {
  try { show(make(await rarePages())); } catch {
    boot(t('The server is not responding. Check your connection and try again.'));
  }
}

/** @param {string=} notice */
async function leave(notice) {
  await api.logout().catch(() => {});
  api.know(false);
  boot(notice);
}

/** @typedef {{root: HTMLElement, focus: () => void}} Gate */

/** @param {Gate} gate */
function show(gate) {
  document.title = t('Chirrup console');
  document.body.replaceChildren(gate.root);
  gate.focus();
}

const answer = takeAnswer();
if (answer) arrive(answer);
else boot();
