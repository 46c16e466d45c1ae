// The REST requests of the pages, and their refusals as sentences. A write carries an
// Idempotency-Key, so a retry after a lost answer does nothing twice.

import { uuid } from '../../shared/uuid.js';
import { address, Problem, wordsOf } from './api.js';
import { t } from './language.js';

const ADMIN = '/api/v1/admin/';

/**
 * @param {() => void} ended is called when the gateway refuses the session
 * @returns {Rest}
 */
export function rest(ended) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {object=} body
   * @param {boolean=} isNew
   */
  async function call(method, path, body, isNew = false) {
    const url = path.startsWith('/') ? path : ADMIN + path;
    /** @type {Record<string, string>} */
    const headers = {};
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (method !== 'GET') headers['idempotency-key'] = uuid();
    if (isNew) headers['if-none-match'] = '*';
    const response = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.json().catch(() => null);
    if (response.ok) return answer;
    if (response.status === 401) ended();
    throw new Problem(response.status, answer);
  }

  return {
    /** @type {(path: string, query?: Query) => ReturnType<typeof call>} */
    get: (path, query) => call('GET', address(path, query)),
    /** @type {(path: string, body?: object) => ReturnType<typeof call>} */
    post: (path, body = {}) => call('POST', path, body),
    /** @type {(path: string, body: object, isNew?: boolean) => ReturnType<typeof call>} */
    put: (path, body, isNew) => call('PUT', path, body, isNew),
    /** @type {(path: string, body: object) => ReturnType<typeof call>} */
    patch: (path, body) => call('PATCH', path, body),
    remove: (path) => call('DELETE', path),
  };
}

/**
 * A name as a part of a path.
 * @param {string} name
 */
export const part = (name) => encodeURIComponent(name);

/**
 * A sentence about an error: what happened, and what to do.
 * @param {unknown} error
 */
export function sentence(error) {
  if (!(error instanceof Problem)) {
    return t('The server is not responding. Nothing is lost. Try again in a moment.');
  }
  if (isAbsent(error)) return t('This server does not support this yet. Ask an administrator to upgrade it.');
  if (error.status === 403 && error.code === 'forbidden') {
    return t('Your role does not allow this. Ask an administrator.');
  }
  return wordsOf(error.body) || t('The server refused the request (HTTP {}).', error.status);
}

/**
 * Whether the gateway lacks the route; a missing object has a code of its own.
 * @param {Problem} problem
 */
export const isAbsent = ({ status, code }) =>
  status === 405 || (status === 404 && (code === 'not_found' || !code));

/**
 * The path of the member of the body that a refusal is about, such as `payload.text`; '' if it is
 * about none.
 * @param {Problem} problem
 */
export const member = ({ body }) => (body.pointer ?? '').split('/').slice(1)
  .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
