// The last step: the snippet for the website, and a test message that goes the way of a visitor's.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { reasonOf } from '../shell/api.js';
import { snippetField } from '../settings/appearance.js';
import { Form } from '../settings/form.js';
import { TestVisitor } from './test-visitor.js';

/**
 * @param {import('./main.js').SetupContext} context
 * @returns {Promise<import('./main.js').Step>}
 */
export async function snippet({ workspace }) {
  const { public_key: key } = await workspace.load();
  return {
    title: t('Put it on your site'),
    lead: t('One line before </body>, on every page where people may ask.'),
    verb: t('Open the inbox'),
    form: new Form({}),
    fields: [snippetField(key), el('hr'), testField(new TestVisitor(key))],
    save: async () => true,
  };
}

/** @param {TestVisitor} visitor */
function testField(visitor) {
  const status = el('p.hint', { role: 'status' });
  const control = el('input.input', { id: 'test', maxlength: 500, autocomplete: 'off' });
  control.value = t('Hello, this is a test.');
  const button = el('button.button', { type: 'button' }, t('Send test'));
  let isBusy = false;
  const send = async () => {
    const body = control.value.trim();
    if (isBusy || !body) return;
    isBusy = true;
    button.setAttribute('aria-disabled', 'true');
    status.classList.remove('ok', 'bad');
    status.textContent = t('Sending');
    try {
      const { session, milliseconds } = await visitor.send(body);
      status.classList.add('ok');
      status.replaceChildren(
        icon('check', 'small'),
        el('span', {}, t('Stored after {}\u00a0ms.', milliseconds), ' ',
          el('a', { href: `/console#${session}` }, t('Open the conversation'))),
      );
    } catch (error) {
      status.classList.add('bad');
      status.textContent = reasonOf(error, t('Not sent. Check your connection and try again.'));
    }
    isBusy = false;
    button.removeAttribute('aria-disabled');
  };
  button.onclick = send;
  control.onkeydown = (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    send();
  };
  return el('div.field', {}, el('div.test-line', {}, el('div.field', {}, el(
    'label',
    { for: 'test' },
    t('Send yourself a message, as a visitor'),
  ), control), button), status);
}
