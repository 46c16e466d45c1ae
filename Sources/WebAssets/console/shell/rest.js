// What the pages ask the gateway for, and its refusals as sentences. A write carries an
// Idempotency-Key, so that asking again after a lost answer does nothing twice.

import { uuid } from '../../shared/uuid.js';
import { Problem } from './api.js';

const ADMIN = '/api/v1/admin/';

/** @param {() => void} ended called when the login is over */
export function rest(ended) {
  async function call(method, path, body, onlyNew = false) {
    const url = path.startsWith('/') ? path : ADMIN + path;
    const headers = /** @type {Record<string, string>} */ ({});
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (method !== 'GET') headers['idempotency-key'] = uuid();
    if (onlyNew) headers['if-none-match'] = '*';
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
    /** @param {string} path @param {Record<string, string|number|undefined>=} query */
    get(path, query = {}) {
      const given = Object.entries(query).filter(([, value]) => value != null);
      const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
      return call('GET', given.length ? `${path}?${text}` : path);
    },
    post: (path, body = {}) => call('POST', path, body),
    /**
     * With `onlyNew` what is there already is refused, with 412.
     * @param {string} path
     * @param {any} body
     * @param {any=} onlyNew
     */
    put: (path, body, onlyNew = false) => call('PUT', path, body, onlyNew),
    patch: (path, body) => call('PATCH', path, body),
    remove: (path) => call('DELETE', path),
  };
}

/** A path's part that people have named. */
export const part = (name) => encodeURIComponent(name);

/** What happened, and what to do. @param {any} error */
export function sentence(error) {
  if (!error.status) {
    return 'The server is not responding. Nothing is lost. Try again in a moment.';
  }
  if (isAbsent(error)) return 'This server does not support this yet. Ask an administrator to upgrade it.';
  if (error.status === 403 && error.code === 'forbidden') {
    return 'Your role does not allow this. Ask an administrator.';
  }
  return error.body.detail ?? `The server refused the request (HTTP ${error.status}).`;
}

/** The gateway has no such route, which is another thing than no such object. */
export const isAbsent = (error) =>
  error.status === 405 || (error.status === 404 && (error.code === 'not_found' || !error.code));

/**
 * The member of the body that a refusal is about: as the problem document points to it, or as its
 * sentence names it.
 */
export function culprit(error) {
  const { errors, pointer, field, detail } = error.body ?? {};
  const named = errors?.[0]?.pointer ?? errors?.[0]?.field ?? pointer ?? field;
  const said = /“([^”]+)”/.exec(detail ?? '')?.[1] ?? /^(\w+): /.exec(detail ?? '')?.[1];
  return String(named ?? said ?? '').replace(/^#?\//, '').replaceAll('/', '.');
}
