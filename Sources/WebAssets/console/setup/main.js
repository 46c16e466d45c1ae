// The page of the one-time link that `chirrup serve` prints while there is no operator. Its first
// step creates the owner; the others change the settings of the new workspace, with the owner's
// login. So a reload goes on with the second step.

import '../shell/icons.js';
import '../shell/rare-icons.js';
import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { api } from '../shell/api.js';
import { rest } from '../shell/rest.js';
import { Workspace } from '../settings/workspace.js';
import { hours } from './hours.js';
import { look } from './look.js';
import { owner } from './owner.js';
import { snippet } from './snippet.js';

/**
 * `code` is that of the link, '' without one.
 * @typedef {{code: string, workspace: Workspace}} SetupContext
 */
/**
 * A step: `save` returns whether the next one may begin. `aside` is beside the fields; `follow`
 * runs when the step is shown.
 * @typedef {{title: string, lead: string, verb: string, fields: HTMLElement[],
 *   form: Pick<import('../settings/form.js').Form<unknown>, 'busy' | 'trouble' | 'onChange'>,
 *   aside?: HTMLElement, follow?: () => void, save: () => Promise<boolean>}} Step
 */

const CONSOLE = '/console';
const STEPS = [
  { name: t('Owner'), make: owner },
  { name: t('Name and colours'), make: look },
  { name: t('Hours'), make: hours },
  { name: t('Snippet and test'), make: snippet },
];

/** @type {SetupContext} */
const context = {
  code: location.hash.slice(1),
  workspace: new Workspace(rest(() => location.assign(CONSOLE))),
};

/** @param {number} at the number of the step */
async function show(at) {
  const step = await STEPS[at].make(context);
  const words = el('p', { role: 'status' });
  const title = el('h2', { tabindex: -1 }, step.title);
  const button = el('button.button.primary', { type: 'submit' }, step.verb);
  step.form.onChange(() => {
    const { busy, trouble } = step.form;
    button.setAttribute('aria-disabled', String(busy));
    words.classList.toggle('trouble', !!trouble);
    words.replaceChildren(...(trouble ? [icon('alert', 'small'), el('span', {}, trouble)] : []));
  });
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    if (!await step.save()) return;
    if (at === STEPS.length - 1) location.assign(CONSOLE);
    else show(at + 1);
  };
  const page = el(
    'main.setup',
    {},
    el('header.setup-head', {}, icon('swift'), el('h1', {}, t('Set up Chirrup')),
      el('span.meta', {}, t('Step {1} of {2}', at + 1, STEPS.length))),
    el('ol.steps', { 'aria-label': t('Steps') }, ...STEPS.map(({ name }, number) => progress(
      name,
      number,
      at,
    ))),
    el('form.step', { novalidate: true, submit },
      el(`div.step-body.set${step.aside ? '' : '.wide'}`, {},
        el('div.step-fields.settings.page', {}, el('div', {}, title, el('p', {}, step.lead)),
          ...step.fields),
        step.aside && el('div.step-side', {}, step.aside)),
      el('footer.step-foot', {}, words,
        at > 1 && el('button.button.quiet', { type: 'button', click: () => show(at - 1) }, t('Back')),
        button)),
  );
  document.body.replaceChildren(page);
  document.title = `${step.title} · ${t('Set up Chirrup')}`;
  title.focus();
  step.follow?.();
}

/**
 * @param {string} name
 * @param {number} number
 * @param {number} at
 */
const progress = (name, number, at) => el(
  `li${number < at ? '.done' : ''}`,
  { 'aria-current': number === at && 'step' },
  el('span.n', {}, number < at ? icon('check') : String(number + 1)),
  el('span.words', {}, name, number < at && el('span.sr-only', {}, t(', done'))),
);

async function boot() {
  if (context.code || !api.known) return show(0);
  try {
    const { operator } = await api.token();
    if (operator.role === 'agent') return location.assign(CONSOLE);
  } catch { return show(0); }
  show(1);
}

boot();
