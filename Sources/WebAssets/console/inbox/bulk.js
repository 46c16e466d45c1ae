// Runs actions or a macro on many conversations, in requests of a few each, so that the progress
// shows. A request that fails is repeated under the same Idempotency-Key, which does nothing twice.

import { uuid } from '../../shared/uuid.js';
import { api, Problem, wordsOf } from '../shell/api.js';
import { t } from '../shell/language.js';

const CHUNK = 20; // conversations of a request; the gateway takes 100
const TRIES = 4;
const PAUSE = 1500; // ms before a repetition, and longer before each further one

/**
 * @typedef {{actions: Action[]} | {macro: string}} Work
 * @typedef {{done: string[], unchanged: ActionResult[], failed: ActionResult[], stopped: string}}
 *   Report `stopped` is the reason why the rest was not tried
 */

/**
 * @param {string[]} ids
 * @param {Work} work
 * @param {(done: number) => void} progress
 * @returns {Promise<Report>}
 */
export async function run(ids, work, progress) {
  /** @type {Report} */
  const report = { done: [], unchanged: [], failed: [], stopped: '' };
  for (let at = 0; at < ids.length; at += CHUNK) {
    progress(at);
    try {
      const { results } = await insist(ids.slice(at, at + CHUNK), work);
      for (const result of results) {
        if (result.outcome === 'done') report.done.push(result.id);
        else report[result.outcome].push(result);
      }
    } catch (error) {
      report.stopped = error instanceof Problem ? error.message : t('The server is not responding.');
      break;
    }
  }
  return report;
}

/**
 * @param {string[]} ids
 * @param {Work} work
 */
async function insist(ids, work) {
  const key = uuid();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ('macro' in work
        ? api.runMacro(work.macro, ids, key) : api.bulk(ids, work.actions, key));
    } catch (error) {
      const isFinal = error instanceof Problem && error.code && error.code !== 'idempotency_running';
      if (isFinal || attempt === TRIES) throw error;
      await new Promise((wake) => { setTimeout(wake, PAUSE * attempt); });
    }
  }
}

/** @typedef {(number: number) => string} Count a sentence about so many conversations */

/**
 * What happened, in sentences.
 * @param {Report} report
 * @param {Count} done as in “2 closed.”
 * @param {Count} already as in “2 closed already.”
 */
export function sentences(report, done, already) {
  const { unchanged, failed, stopped } = report;
  /** @type {Map<string, number>} by the colleague who was first, or '' */
  const others = new Map();
  for (const { closed_by: closer } of unchanged) {
    const name = closer?.name ?? '';
    others.set(name, (others.get(name) ?? 0) + 1);
  }
  const problems = new Map();
  for (const { problem, actions_done: some } of failed) {
    const words = wordsOf(problem) || t('Refused.');
    const known = problems.get(words) ?? { count: 0, some: 0 };
    problems.set(words, { count: known.count + 1, some: Math.max(known.some, some) });
  }
  const missed = stopped ? [t('The rest was not tried: {}', stopped)] : [];
  return [
    done(report.done.length),
    ...[...others].map(([name, number]) => (
      name ? t('{1} closed already by {2}.', number, name) : already(number))),
    ...[...problems].map(([words, { count: number, some }]) => (
      some
        ? t('{1} not changed after action {2}: {3}', number, some, words)
        : t('{1} not changed: {2}', number, words))),
    ...missed,
  ].join(' ');
}
