// Push messages to this browser. Permission is requested by the button only. The subscription
// belongs to the login: each device has its own, and a log-out ends it.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { pane } from './pane.js';

const PATH = '/api/v1/auth/push';

/** The state of the permission, and what the page says about it. */
const WORDS = {
  off: t('This browser gets no push messages.'),
  on: t('This browser gets push messages while you see no console, on any device.'),
  denied: t('Notifications are blocked. Allow them in your browser’s settings.'),
  unsupported: t('This browser cannot receive push messages. On an iPhone or iPad, first add the console to the home screen.'),
};

/** What the push manager of this browser has, and what the gateway is to know of it. */
const push = {
  /** @returns {Promise<PushManager | undefined>} */
  async manager() {
    return navigator.serviceWorker && (await navigator.serviceWorker.ready).pushManager;
  },
  async known() { return (await this.manager())?.getSubscription(); },
  async end() { await (await this.known())?.unsubscribe(); },
};

/**
 * @param {Rest} rest
 * @param {Partial<Push>} choices
 */
async function store(rest, choices) {
  const made = await push.known();
  if (made) await rest.put(PATH, { ...made.toJSON(), ...choices });
}

/** @param {Rest} rest */
async function turnOn(rest) {
  if (await Notification.requestPermission() !== 'granted') return;
  const { public_key: key } = await rest.get(PATH);
  await push.end(); // one of another key, or of an earlier login, is of no use
  await (await push.manager())?.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await store(rest, {});
}

/** @param {Rest} rest */
async function turnOff(rest) {
  await rest.remove(PATH);
  await push.end();
}

/**
 * @param {string} label
 * @param {string} hint
 * @param {(yes: boolean) => void} change
 */
function choice(label, hint, change) {
  const box = el('input', { type: 'checkbox', role: 'switch' });
  box.onchange = () => change(box.checked);
  const root = el('label.switch', { hidden: true },
    el('span', {}, el('b', {}, label), el('span.meta', {}, hint)), box);
  return {
    root,
    /** @type {(isShown: boolean, isOn: boolean) => void} */
    show: (isShown, isOn) => { root.hidden = !isShown; box.checked = isOn; },
  };
}

/** @param {import('./pane.js').SettingsContext} context */
export function open({ rest }) {
  const trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  const words = el('p', { role: 'status' });
  const act = el('button.button', { type: 'button' });
  const chip = el('span.chip');
  const waiting = choice(t('New conversations'), t('In business hours, while you are available'),
    (yes) => attempt(() => store(rest, { waiting: yes })));
  const messages = choice(t('Messages in your conversations'), t('Until you have read them'),
    (yes) => attempt(() => store(rest, { messages: yes })));
  const texts = choice(t('Show the text'), t('Anyone who sees the locked screen can read it'),
    (yes) => attempt(() => store(rest, { texts: yes })));

  /** @param {(() => Promise<unknown>)=} work */
  async function attempt(work) {
    trouble.hidden = true;
    act.disabled = true;
    try {
      await work?.();
      await draw(await rest.get(PATH));
    } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(icon('alert', 'small'), error instanceof DOMException
        ? t('The browser refused. Check its settings and try again.') : sentence(error));
    }
    act.disabled = false;
  }

  /** @param {Push} known */
  async function draw(known) {
    const isOn = known.subscribed && !!await push.known() && Notification.permission === 'granted';
    const state = !('PushManager' in window) ? 'unsupported' : isOn ? 'on'
      : Notification.permission === 'denied' ? 'denied' : 'off';
    words.textContent = WORDS[state];
    chip.textContent = isOn ? t('On') : t('Off');
    act.hidden = state === 'unsupported' || state === 'denied';
    act.textContent = isOn ? t('Turn off') : t('Turn on');
    act.onclick = () => attempt(() => (isOn ? turnOff : turnOn)(rest));
    waiting.show(isOn, known.waiting);
    messages.show(isOn, known.messages);
    texts.show(isOn, known.texts);
  }

  const panel = el('section.panel', { 'aria-labelledby': 'push' },
    el('h2', { id: 'push' }, t('Push messages'), ' ', chip), words, trouble,
    waiting.root, messages.root, texts.root, el('div.acts', {}, act),
    el('p.meta', {}, t(
      'A message names the visitor and the page, and what was written only if you turn that on.')));
  return {
    root: pane({
      title: t('Notifications'),
      lead: t('News on this device while the console is closed.'),
      body: [panel],
    }),
    show: () => { attempt(); },
  };
}
