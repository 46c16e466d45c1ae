// What stands around the messages: place in the queue, forms, cards and buttons, quick replies, the
// menu, the transcript.

import { CIRCLE, el, icon, paths } from '../shared/dom.js';
import { face } from '../shared/thread.js';
import { swift } from './panel/panel.js';
import { dots } from './panel/status.js';
import { language, say } from './words.js';

const GRADES = /** @type {const} */ (['bad', 'poor', 'fair', 'good', 'great']);
const SAFE = /^(https?|mailto|tel):/i;

Object.assign(paths, {
  save: 'M10 3v9M6 8l4 4 4-4M4 16h12',
  bell: 'M4 15h12l-2-3V8a4 4 0 0 0-8 0v4zM9 17h2',
});

/** @param {any} core what the app lends: functions, the panel, what is known at the moment */
export function extras({ visitor, view, workspace, send, choose, fail, config, talk, begun }) {
  const list = (some) => some?.map ? some : [];

  // What a message offers besides its text. It comes from bots, so from a workspace's own settings;
  // a part that is not as it should be is left out.

  const buttons = (some, look, act) => list(some).map(({ label, type, value }) => type !== 'url'
    ? el(`button.${look}`, { click: () => act(label, value, type) }, label)
    : SAFE.test(value) && el(`a.${look}`, { href: value, target: '_blank', rel: 'noopener' }, label));

  function offers({ key, payload }) {
    const card = (it) => el(
      'div.card',
      { dir: 'auto' },
      /^https:/.test(it?.image_url) && el('img', { src: it.image_url, alt: '' }),
      it?.title && el('h3', {}, it.title),
      it?.title && it.text && el('p', {}, it.text),
      buttons(it?.buttons, 'offer', (label, value) => choose(label, value, key)),
    );
    return payload.cards
      ? el('div.cards', { tabindex: 0 }, list(payload.cards).map(card))
      : (payload.title || payload.buttons) && card(payload);
  }

  const replies = ({ some, to }) => el(
    'div.replies',
    { dir: 'auto' },
    buttons(some, 'reply', (label, value) => choose(label, value, to)),
  );

  const menu = () => el(
    'details.menu',
    {},
    el('summary', {}, say('menu')),
    el('div', { dir: 'auto' }, buttons(
      config().menu.actions,
      'action',
      (label, value, type) => type === 'operator' ? send(label, { handover: true }) : send(value),
    )),
  );

  const lead = ({ title, text }) => el(
    'div.lead',
    { dir: 'auto' },
    swift(),
    el('h3', {}, title),
    el('p', {}, text),
  );

  const writer = ({ who }) => el(
    'div.say.in.first.last',
    {},
    face(who),
    el('p.bubble.typing', {}, dots(), el('span.sr-only', {}, say('typing', who.name))),
  );

  function queue({ position, wait_ms }) {
    const minutes = (Math.ceil(wait_ms / 60_000) || 1).toLocaleString(
      language,
      { style: 'unit', unit: 'minute', unitDisplay: 'long' },
    );
    return el(
      'div.queue',
      {},
      el('strong', {}, `${position}`),
      el('b', {}, say('place')),
      el('p', {}, wait_ms != null && `${say('wait_about', minutes)}. `, say('go_on')),
    );
  }

  // Forms. The browser checks the fields and says so in its own words.

  /** Faces from sad to glad, in a box of 20. */
  const grades = (name, label) => el('fieldset.grades', {
    'aria-label': label,
  }, [1, 2, 3, 4, 5].map((grade) => {
    paths.face = `${CIRCLE}M8 8v.01M12 8v.01M7 ${13.5 - grade * 0.4}q3 ${grade * 2 - 6} 6 0`;
    return el(
      'label',
      {},
      el('input', { type: 'radio', name, value: grade, required: true }),
      icon('face'),
      say(GRADES[grade - 1]),
    );
  }));

  function field({ key, label, type, required, options }) {
    const known = /^(name|email)$/.test(key) && key;
    const given = { type, name: key, required, dir: 'auto', maxlength: 2000, autocomplete: known };
    return type === 'grades' ? grades(key, label) : el(
      'label',
      {},
      el('span', {}, label, !required && el('small', {}, ` ${say('optional')}`)),
      el(
        { area: 'textarea', select: 'select' }[type] ?? 'input',
        given,
        options && el('option'),
        list(options).map((it) => el('option', {}, it)),
      ),
    );
  }

  /** @param {(values: any) => Promise<any>} give rejects if it could not be sent */
  function form(title, text, act, fields, give) {
    const go = el('button.again', {}, say(act));
    const problem = el('p.state.failed', { role: 'alert' });
    const node = el(
      'form.page',
      {
        dir: 'auto',
        async submit(event) {
          event.preventDefault();
          go.disabled = true;
          problem.textContent = '';
          try {
            await give(Object.fromEntries([...new FormData(node)].filter(([, value]) => value)));
          } catch { problem.textContent = say('failed'); }
          go.disabled = false;
          go.focus(); // if it is still there
        },
      },
      el('h3', {}, title),
      text && el('p', {}, text),
      list(fields).map(field),
      problem,
      go,
    );
    return node;
  }

  const area = (key, label, required) => ({ key, label: say(label), type: 'area', required });
  function thank() {
    view.page.replaceChildren(el('p.page', { role: 'status' }, say('thanks')));
    view.again.focus(); // the button that was pressed is gone
  }

  const leave = () => form(say('leave'), config().offline.text, 'leave', [
    { key: 'name', label: say('name'), type: 'text' },
    { key: 'email', label: say('email'), type: 'email', required: true },
    area('message', 'message', true),
  ], async (values) => {
    await visitor.ask('offline', { body: { workspace, ...values } });
    thank();
  });

  const begin = () => form(say('start'), '', 'start', config().prechat.fields, async (
    { name, email, ...attributes },
  ) => {
    await visitor.put('profile', { name, email, attributes });
    begun();
  });

  const rate = (label = config().rating.question || say('how')) => form(label, '', 'send', [
    { key: 'rating', type: 'grades', label },
    area('comment', 'better'),
  ], async ({ rating, comment }) => {
    await visitor.put(`sessions/${talk().session}/rating`, { rating: +rating, comment });
    thank();
  });

  async function transcript() {
    try {
      const got = await visitor.ask(
        `sessions/${talk().session}/transcript`,
        { token: await visitor.token() },
      );
      const href = URL.createObjectURL(await got.blob());
      el('a', { href, download: 'chat.txt' }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
    } catch (error) { fail(error); }
  }

  return { lead, writer, queue, offers, replies, menu, leave, begin, rate, transcript };
}
