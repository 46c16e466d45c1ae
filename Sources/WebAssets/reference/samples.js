// Boxes with code: requests in three languages, answers by status. Colour only helps the eye.

import { el, icon } from '../shared/dom.js';
import { audience } from './reference.js';

/** @typedef {import('./reference.js').Operation} Operation */
/** @typedef {{label: string, code: (Node | string)[], failed?: boolean}} Tab */

const COPIED_TIME = 2000; // ms for which the button says so
let groups = 0;

/**
 * A button that copies a text and says so.
 * @param {string} label
 * @param {() => string} text
 */
export function copyButton(label, text) {
  const button = el('button.icon-button', {
    type: 'button', 'aria-label': label,
    click: async () => {
      const done = await navigator.clipboard.writeText(text()).then(() => true, () => false);
      button.replaceChildren(icon(done ? 'check' : 'x'));
      button.setAttribute('aria-label', done ? 'Copied' : 'Could not be copied');
      setTimeout(() => {
        button.replaceChildren(icon('copy'));
        button.setAttribute('aria-label', label);
      }, COPIED_TIME);
    },
  }, icon('copy'));
  return button;
}

/**
 * A box whose tabs are radio buttons; with one tab, its name.
 * @param {string} name
 * @param {Tab[]} tabs
 */
export function sample(name, tabs) {
  const group = `sample-${groups += 1}`;
  const blocks = tabs.map(({ label, code }) => el('pre', {
    tabindex: 0, role: 'group', 'aria-label': `${name}: ${label}`,
  }, el('code', {}, code)));
  /** @param {number} chosen */
  const show = (chosen) => blocks.forEach((block, at) => { block.hidden = at !== chosen; });
  const label = (/** @type {Tab} */ tab) => el(tab.failed == null ? 'span'
    : tab.failed ? 'span.stat.no' : 'span.stat', {}, tab.label);
  const choices = tabs.length === 1 ? [label(tabs[0])] : tabs.map((tab, at) => el('label', {},
    el('input.sr-only', { type: 'radio', name: group, checked: at === 0, change: () => show(at) }),
    label(tab)));
  show(0);
  return el('div.sample', {},
    el('div.sample-bar', tabs.length > 1 ? { role: 'radiogroup', 'aria-label': name } : {},
      choices, el('span.grow'),
      copyButton('Copy', () => blocks.find((block) => !block.hidden)?.textContent ?? '')),
    blocks);
}

/**
 * JSON with a colour for names, texts and numbers.
 * @param {unknown} value
 */
export function json(value) {
  const pieces = JSON.stringify(value, null, 2)
    .split(/("(?:[^"\\]|\\.)*"(?:\s*:)?|-?\b\d[\d.eE+-]*)/);
  return pieces.map((piece, odd) => {
    if (odd % 2 === 0) return piece;
    if (!piece.startsWith('"')) return el('span.n', {}, piece);
    const colon = piece.endsWith(':');
    return colon ? el('span.k', {}, piece) : el('span.s', {}, piece);
  });
}

/** @param {Operation} operation */
export const bodyExample = ({ requestBody }) => requestBody?.content['application/json']?.example;

/**
 * The media type of a body that is not JSON; undefined: there is none.
 * @param {Operation} operation
 */
export const bytesType = ({ requestBody }) => Object.keys(requestBody?.content ?? {}).find(
  (type) => type !== 'application/json'
);

/**
 * The path with examples in place of its parameters, and the query that is required.
 * @param {Operation} operation
 */
function examplePath({ path, parameters }) {
  const query = parameters.filter((it) => it.in === 'query' && it.required)
    .map(({ name, example }) => `${name}=${encodeURIComponent(`${example ?? '…'}`)}`).join('&');
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(
    `${parameters.find((it) => it.in === 'path' && it.name === name)?.example ?? name}`
  ));
  return query ? `${filled}?${query}` : filled;
}

/** @param {Operation} operation @returns {[string, string][]} */
function exampleHeaders(operation) {
  const whose = { member: 'CHIRRUP_KEY', visitor: 'VISITOR_TOKEN', anybody: '' }[
    audience(operation)];
  const key = operation.parameters.find(({ name }) => name === 'Idempotency-Key');
  /** @type {([string, string] | false)[]} */
  const headers = [
    !!whose && ['Authorization', `Bearer $${whose}`],
    bodyExample(operation) !== undefined && ['Content-Type', 'application/json'],
    !!bytesType(operation) && ['Content-Type', `${bytesType(operation)}`],
    !!key && operation.method === 'POST' && ['Idempotency-Key', `${key.example}`],
  ];
  return headers.filter(Boolean);
}

/** @param {Operation} operation @param {string} server */
export function requestTabs(operation, server) {
  return [
    { label: 'curl', code: curl(operation, server) },
    { label: 'JavaScript', code: javascript(operation, server) },
    { label: 'Python', code: python(operation, server) },
  ];
}

/** @param {Operation} operation @param {string} server */
function curl(operation, server) {
  const body = bodyExample(operation);
  const parts = exampleHeaders(operation).map(
    ([name, value]) => ['-H ', el('span.s', {}, `"${name}: ${value}"`)]
  );
  if (body !== undefined) {
    const text = JSON.stringify(body).replaceAll("'", "'\\''");
    parts.push(['-d ', el('span.s', {}, `'${text}'`)]);
  } else if (bytesType(operation)) {
    parts.push(['--data-binary ', el('span.s', {}, '@body')]);
  }
  return [
    el('span.f', {}, 'curl'), ` -X ${operation.method} '${server}${examplePath(operation)}'`,
    ...parts.flatMap((part) => [' \\\n  ', ...part]),
  ];
}

/** @param {Operation} operation @param {string} server */
function javascript(operation, server) {
  const body = bodyExample(operation);
  const headers = exampleHeaders(operation).flatMap(([name, value]) => {
    const secret = value.match(/^Bearer \$(\w+)$/)?.[1];
    const text = secret ? `\`Bearer \${process.env.${secret}}\`` : JSON.stringify(value);
    return ['    ', el('span.s', {}, `"${name}"`), ': ', el('span.s', {}, text), ',\n'];
  });
  return [
    el('span.k', {}, 'const'), ' response = ', el('span.k', {}, 'await'), ' ',
    el('span.f', {}, 'fetch'), '(', el('span.s', {}, `"${server}${examplePath(operation)}"`),
    ', {\n  method: ', el('span.s', {}, `"${operation.method}"`), ',\n',
    ...headers.length ? ['  headers: {\n', ...headers, '  },\n'] : [],
    ...body !== undefined ? [`  body: JSON.stringify(${JSON.stringify(body)}),\n`] : [],
    ...bytesType(operation) ? ['  body: bytes,\n'] : [],
    '});\nif (!response.ok) ', el('span.k', {}, 'throw new'),
    ' Error((', el('span.k', {}, 'await'), ' response.json()).detail);',
  ];
}

/** @param {unknown} value @returns {string} */
function pythonLiteral(value) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value).map(
      ([name, inner]) => `${JSON.stringify(name)}: ${pythonLiteral(inner)}`
    ).join(', ')}}`;
  }
  return JSON.stringify(value);
}

/** @param {Operation} operation @param {string} server */
function python(operation, server) {
  const body = bodyExample(operation);
  const headers = exampleHeaders(operation).filter(([, value]) => value !== 'application/json')
    .flatMap(([name, value]) => {
      const secret = value.match(/^Bearer \$(\w+)$/)?.[1];
      const text = secret ? `f"Bearer {os.environ['${secret}']}"` : JSON.stringify(value);
      return ['        ', el('span.s', {}, `"${name}"`), ': ', el('span.s', {}, text), ',\n'];
    });
  return [
    el('span.k', {}, 'import'), ' os, requests\n\nresponse = requests.',
    el('span.f', {}, operation.method.toLowerCase()), '(\n    ',
    el('span.s', {}, `"${server}${examplePath(operation)}"`), ',\n',
    ...headers.length ? ['    headers={\n', ...headers, '    },\n'] : [],
    ...body !== undefined ? [`    json=${pythonLiteral(body)},\n`] : [],
    ...bytesType(operation) ? ['    data=', el('span.f', {}, 'open'), '("body", "rb"),\n'] : [],
    ')\nresponse.', el('span.f', {}, 'raise_for_status'), '()',
  ];
}
