// The last step: the snippet for the website, and a test message that goes the way of a visitor's.

import { el, icon } from '../../shared/dom.js';
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
    title: 'Put it on your site',
    lead: 'One line before </body>, on every page where people may ask.',
    verb: 'Open the inbox',
    form: new Form({}),
    fields: [snippetField(key), el('hr'), testField(new TestVisitor(key))],
    save: async () => true,
  };
}

/** @param {TestVisitor} visitor */
function testField(visitor) {
  const status = el('p.hint', { role: 'status' });
  const control = el('input.input', { id: 'test', maxlength: 500, autocomplete: 'off' });
  control.value = 'Hello, this is a test.';
  const button = el('button.button', { type: 'button' }, 'Send test');
  let isBusy = false;
  const send = async () => {
    const body = control.value.trim();
    if (isBusy || !body) return;
    isBusy = true;
    button.setAttribute('aria-disabled', 'true');
    status.classList.remove('ok', 'bad');
    status.textContent = 'Sending';
    try {
      const { session, milliseconds } = await visitor.send(body);
      status.classList.add('ok');
      status.replaceChildren(
        icon('check', 'small'),
        el('span', {}, `Stored after ${milliseconds}\u00a0ms. `,
          el('a', { href: `/console#${session}` }, 'Open the conversation')),
      );
    } catch (error) {
      status.classList.add('bad');
      status.textContent = reasonOf(error, 'Not sent. Check your connection and try again.');
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
    'Send yourself a message, as a visitor',
  ), control), button), status);
}
