// What stands around the messages: place in the queue, forms, cards and buttons, quick replies, the
// menu, the transcript.

import { el, icon, paths } from '../shared/dom.js';
import { Kind } from '../shared/protocol.js';
import { Word } from './wordlist.js';
import { language, say } from './words.js';

const SAFE = /^(https?|mailto|tel):/i;

/** @param {any} core what the app lends: functions, the panel, what is known at the moment */
export function extras({ visitor, view, workspace, send, choose, failed, config, talk, begun }) {
  const list = (some) => Array.isArray(some) ? some : [];
  paths.save = 'M10 3v9M6 8l4 4 4-4M4 16h12';

  // What a message offers besides its text. It comes from bots, so from a workspace's own settings;
  // a part that is not as it should be is left out.

  const button = (act, look) => ({ label, type, value }) => type === 'url'
    ? SAFE.test(value) && el(`a.${look}`, { href: value, target: '_blank', rel: 'noopener' }, label)
    : el(`button.${look}`, { type: 'button', click: () => act(label, value, type) }, label);

  function offers({ key, kind, payload }) {
    const card = (it) => el(
      'div.card',
      { dir: 'auto' },
      /^https:/.test(it?.image_url) && el('img', { src: it.image_url, alt: '', loading: 'lazy' }),
      it?.title && el('h3', {}, it.title),
      it?.title && it.text && el('p', {}, it.text),
      ...list(it?.buttons).map(button((label, value) => choose(label, value, key), 'offer')),
    );
    if (kind === Kind.carousel) {
      return el('div.cards', { tabindex: 0 }, ...list(payload.cards).map(card));
    }
    return kind === Kind.card || kind === Kind.buttons ? card(payload) : null;
  }

  const replies = ({ some, to }) => el(
    'div.replies',
    { dir: 'auto' },
    ...list(some).map(button((label, value) => choose(label, value, to), 'reply')),
  );

  const menu = () => el(
    'details.menu',
    {},
    el('summary', {}, say(Word.menu)),
    el('div', { dir: 'auto' }, ...list(config().menu.actions).map(button(
      (label, value, type) => type === 'operator' ? send(label, { handover: true }) : send(value),
      'action',
    ))),
  );

  function queue({ position, wait_ms }) {
    const minutes = new Intl.NumberFormat(
      language,
      { style: 'unit', unit: 'minute', unitDisplay: 'long' },
    ).format(Math.max(1, Math.round(wait_ms / 60_000)));
    return el(
      'div.queue',
      {},
      el('strong', {}, String(position)),
      el('b', {}, say(Word.place)),
      el('p', {}, wait_ms != null && `${say(Word.wait_about, minutes)}. `, say(Word.go_on)),
    );
  }

  // Forms. The browser checks the fields and says so in its own words.

  /** Faces from sad to glad, in a box of 20. */
  const grades = (name) => el('fieldset.grades', {}, ...[1, 2, 3, 4, 5].map((grade) => {
    paths.face = `M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM7.5 8v.01M12.5 8v.01M6.8 ${
      13.9 - grade * 0.4
    }q3.2 ${(grade - 3) * 2} 6.4 0`;
    return el(
      'label',
      {},
      el('input', { type: 'radio', name, value: grade, required: true }),
      icon('face'),
      say(Word.bad - 1 + grade),
    );
  }));

  function field({ key, label, type, required, options }) {
    if (type === 'grades') return grades(key);
    const given = { name: key, required, dir: 'auto', maxlength: 2000 };
    const input = type === 'area' ? el('textarea', { rows: 4, ...given })
      : type === 'select'
      ? el('select', given, el('option'), ...list(options).map((it) => el('option', {}, it)))
      : el('input', { type, autocomplete: key, ...given });
    const note = required ? null : el('small', {}, ` ${say(Word.optional)}`);
    return el('label', {}, el('span', {}, label, note), input);
  }

  /** @param {(values: any) => Promise<any>} give rejects if it could not be sent */
  function form(title, text, act, fields, give) {
    const go = el('button.again', {}, act);
    const problem = el('p.state.failed', { role: 'alert' });
    const node = el(
      'form.page',
      {
        async submit(event) {
          event.preventDefault();
          go.disabled = true;
          problem.textContent = '';
          const given = [...new FormData(node)].filter(([, value]) => value);
          try { await give(Object.fromEntries(given)); }
          catch { problem.textContent = say(Word.failed); }
          go.disabled = false;
        },
      },
      el('h3', { dir: 'auto' }, title),
      text && el('p', { dir: 'auto' }, text),
      ...list(fields).map(field),
      problem,
      go,
    );
    return node;
  }

  const area = (key, label, required) => ({ key, label: say(label), type: 'area', required });
  const thank = () => view.page.replaceChildren(
    el('p.done', { role: 'status' }, say(Word.thanks)),
  );

  const leave = () => form(say(Word.leave_message), config().offline.text, say(Word.leave), [
    { key: 'name', label: say(Word.name), type: 'text' },
    { key: 'email', label: say(Word.email), type: 'email', required: true },
    area('message', Word.message, true),
  ], async (values) => {
    await visitor.ask('offline', { body: { workspace, ...values } });
    thank();
  });

  const begin = () => form(say(Word.before), '', say(Word.start), config().prechat.fields, async (
    { name, email, ...attributes },
  ) => {
    await visitor.askAs('profile', { method: 'PUT', body: { name, email, attributes } });
    begun();
  });

  const rate = () => form(config().rating.question || say(Word.how), '', say(Word.rate), [
    { key: 'rating', type: 'grades' },
    area('comment', Word.better),
  ], async ({ rating, comment }) => {
    const body = { rating: +rating, comment };
    await visitor.askAs(`sessions/${talk().session}/rating`, { method: 'PUT', body });
    thank();
  });

  async function transcript() {
    try {
      const got = await visitor.askAs(`sessions/${talk().session}/transcript`);
      const href = URL.createObjectURL(await got.blob());
      el('a', { href, download: 'chat.txt' }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
    } catch (error) { failed(error); }
  }

  return { queue, offers, replies, menu, leave, begin, rate, transcript };
}
