// The middle column: one operation with its parameters, bodies, examples and errors.

import { el, icon } from '../shared/dom.js';
import { audience } from './reference.js';
import { bytesType, copyButton, json, requestTabs, sample } from './samples.js';

/** @typedef {import('./reference.js').Operation} Operation */
/** @typedef {import('./reference.js').Reference} Reference */

/** @type {Record<number, string>} */
const STATUSES = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'Done, no content' };

/** @type {Record<number, string>} */
const AGAIN = {
  400: 'After a change', 401: 'With a valid login', 403: 'With more rights', 404: 'No',
  409: 'After reading the state', 412: 'No', 413: 'After a change', 414: 'After a change',
  415: 'After a change', 422: 'After a change', 429: 'After Retry-After', 503: 'After Retry-After',
};

/**
 * Types of problems that only some operations can answer.
 * @type {Record<string, (operation: Operation) => unknown>}
 */
const LIMITED = {
  forbidden: (operation) => operation['x-role'] !== 'agent',
  insufficient_scope: (operation) => operation['x-scope'],
  operators_only: (operation) => operation['x-scope'] === null,
  cross_site: ({ method }) => method !== 'GET',
  session_closed: ofConversations,
  no_such_session: ofConversations,
  id_conflict: ({ path }) => /conversations/.test(path) && /(messages|notes|ions)$/.test(path),
  no_such_visitor: begins,
  too_many_conversations: begins,
  already_claimed: ({ path }) => path.endsWith('/claim'),
  at_capacity: ({ path }) => /\/(claim|next)$/.test(path),
  idempotency_running: ({ method }) => method !== 'GET',
  idempotency_conflict: ({ method }) => method !== 'GET',
  too_many: ({ method, path }) => /^(POST|PUT)$/.test(method) && /\/(tags|intents)/.test(path),
  conflict: ({ path }) => !path.includes('/conversations'),
  took_too_long: (operation) => operation['x-expensive'],
};

/** @param {Operation} operation */
function begins({ method, path }) { return method === 'POST' && path.endsWith('/conversations'); }

/** @param {Operation} operation */
function ofConversations({ tags }) { return tags[0] === 'Conversations'; }

/** @param {string} method */
export const verb = (method) => el('span.verb', { 'data-verb': method }, method);

/**
 * A text in which `code` is marked as in Markdown.
 * @param {string} words
 */
export const prose = (words) => words.split(/`([^`]+)`/).map(
  (part, odd) => odd % 2 ? el('code', {}, part) : part
);

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
export function operationView(operation, reference) {
  const { method, path, summary, description, tags } = operation;
  const pieces = path.split(/(\{\w+\})/).map((part, odd) => odd % 2 ? el('b', {}, part) : part);
  return [
    el('p.crumb', {}, tags[0]),
    el('h1', { tabindex: -1 }, summary),
    el('div.route', {}, verb(method), el('code', {}, pieces),
      copyButton('Copy the path', () => path)),
    description && el('p.lead', {}, prose(description)),
    el('div.needs', {}, needs(operation)),
    parameters(operation, reference),
    request(operation, reference),
    answers(operation, reference),
    errors(operation, reference),
  ];
}

/** @param {Operation} operation */
function needs(operation) {
  const scope = operation['x-scope'];
  /** @param {string} name @param {string} words */
  const chip = (name, words) => el('span.chip', {}, icon(name, 'small'), words);
  return [
    audience(operation) === 'visitor' && chip('key', 'Visitor’s token'),
    audience(operation) === 'anybody' && chip('key', 'No login'),
    scope && chip('key', `Scope ${scope}`),
    scope === null && chip('key', 'Operators only, no API key'),
    operation['x-role'] && operation['x-role'] !== 'agent'
      && chip('person', `Role ${operation['x-role']}`),
    operation.parameters.some(({ name }) => name === 'Idempotency-Key')
      && chip('check', 'Safe to repeat with Idempotency-Key'),
    operation['x-expensive'] && chip('clock', 'Reads much: few run at once'),
    operation.requestBody && chip('file', 'Body up to 64 KiB'),
  ];
}

/** @param {{name: string, required?: boolean, type: string, text: string}[]} rows */
const list = (rows) => el('dl.params', {}, rows.map(({ name, required, type, text }) => el(
  'div', {},
  // A name may break behind its dots.
  el('dt', {}, el('b', {}, name.split(/(?<=\.)/).flatMap((part) => [part, el('wbr')])), required && el('em', {}, 'required'), el('span', {}, type)),
  el('dd', {}, prose(text)),
)));

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
function parameters(operation, reference) {
  const rows = operation.parameters.map(({ name, required, schema, description, in: place }) => ({
    name, required, text: description ?? '',
    type: place === 'header' ? 'header' : `${reference.type(schema)}, in the ${place}`,
  }));
  const login = audience(operation);
  if (login !== 'anybody') {
    rows.push({
      name: 'Authorization', required: true, type: 'header',
      text: login === 'visitor' ? '`Bearer` and a visitor’s token.'
        : operation['x-scope'] ? '`Bearer` and an API key (`ck_…`) or an operator’s token.'
          : '`Bearer` and an operator’s token, or the console’s cookie.',
    });
  }
  const body = operation.requestBody?.content['application/json']?.schema;
  const bytes = bytesType(operation);
  const members = body ? reference.members(body) : [];
  if (!rows.length && !members.length && !bytes) return null;
  return el('section', {}, el('h2', {}, 'Parameters'),
    rows.length > 0 && [el('h3', {}, 'Path, query and headers'), list(rows)],
    members.length > 0 && [el('h3', {}, 'Body, JSON'), list(members)],
    bytes && [el('h3', {}, 'Body'), el('p', {}, bytes)]);
}

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
const request = (operation, reference) => el('section', {},
  el('h2', {}, 'Request'),
  sample('Example request', requestTabs(operation, reference.server)));

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
function answers(operation, reference) {
  const found = Object.entries(operation.responses).filter(([status]) => Number(status) < 400)
    .sort(([one], [other]) => Number(other) - Number(one));
  const tabs = found.map(([status, response]) => {
    const [[type, content] = []] = Object.entries(response.content ?? {});
    const example = content?.example;
    const already = status === '200' && found.length > 1;
    return {
      label: `${status} ${already ? 'Was there already' : STATUSES[Number(status)] ?? ''}`,
      failed: false,
      code: type === 'application/json' ? json(example) : [`${example ?? ''}`],
    };
  });
  const [, first] = found[0];
  const [content] = Object.values(first.content ?? {});
  const members = content ? reference.members(content.schema) : [];
  return el('section', {},
    el('h2', {}, 'Answer'),
    content ? sample('Example answer', tabs) : el('p', {}, 'Status 204, without a body.'),
    members.length > 0 && list(members.map((row) => ({ ...row, required: false }))));
}

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
function errors(operation, reference) {
  const rows = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400)
    .flatMap(([status, given]) => {
      const response = reference.response(given);
      const content = response.content?.['application/problem+json'];
      const known = Object.entries(content?.examples ?? {})
        .filter(([type]) => !LIMITED[type] || LIMITED[type](operation));
      if (!known.length) return [row(status, '', response.description ?? '')];
      return known.map(([type, { value }]) => row(status, type, detail(value, operation)));
    });
  return el('section', {},
    el('h2', {}, 'Errors'),
    el('p', {}, prose('Every error is `application/problem+json` (RFC 9457). Programs read `type`, '
      + 'which never changes; people read `detail`. What failed was not stored.')),
    el('h3', {}, 'What this operation can answer'),
    el('table.errors', {},
      el('thead', {}, el('tr', {}, ['Status', 'Type, after urn:chirrup:problem:', 'What happened',
        'Try again?'].map((title) => el('th', { scope: 'col' }, title)))),
      el('tbody', {}, rows)));
}

/** @param {string} status @param {string} type @param {string} text */
const row = (status, type, text) => el('tr', {},
  el('td', {}, status), el('td', {}, type && el('code', {}, type)), el('td', {}, text),
  el('td.again', {}, AGAIN[Number(status)] ?? ''));

/**
 * The sentence of a problem; of a missing scope, with the one that this operation needs.
 * @param {ProblemBody} problem
 * @param {Operation} operation
 */
const detail = ({ detail: words, type }, operation) => (
  type.endsWith(':insufficient_scope')
    ? words.replace(/“[a-z:]+”/, `“${operation['x-scope']}”`) : words
);

