// Passkeys (WebAuthn) through the browser's own functions and JSON forms.

import { api } from './api.js';
import { t } from './language.js';

const format = /** @type {PasskeyFormat} */ (/** @type {unknown} */ (
  window.PublicKeyCredential));

/** Whether browsers have passkeys on this page: at a host name, over TLS or on this machine. */
export const hasPasskeys = typeof format?.parseRequestOptionsFromJSON === 'function'
  && !/^[\d.]+$|^\[/.test(location.hostname);

/** Whether the operator has closed the browser's dialog, or it has timed out. */
const isCancelled = (/** @type {unknown} */ error) => error instanceof DOMException
  && (error.name === 'NotAllowedError' || error.name === 'AbortError');

/**
 * A sentence about an error of the browser; '' if it is one of the gateway.
 * @param {unknown} error
 */
export function passkeyWords(error) {
  if (isCancelled(error)) return t('No passkey was used. Try again, or use another way.');
  if (!(error instanceof DOMException)) return '';
  if (error.name === 'InvalidStateError') return t('This device already has a passkey for your account.');
  return t('This browser cannot use passkeys here. Use another way.');
}

/**
 * Logs in with a passkey.
 * @param {string=} login the challenge of the first step, if there was one
 */
export async function usePasskey(login) {
  const { challenge, public_key: options } = await api.passkeyOptions(login);
  const publicKey = format.parseRequestOptionsFromJSON(options);
  const found = /** @type {PasskeyCredential} */ (await navigator.credentials.get({ publicKey }));
  return api.passkey(challenge, found.toJSON(), login);
}

/**
 * Makes a passkey, after the password.
 * @param {string | undefined} current the password, if the account has one
 * @param {string} name
 */
export async function addPasskey(current, name) {
  const { challenge, public_key: options } = await api.beginPasskey(current);
  const publicKey = format.parseCreationOptionsFromJSON(options);
  const made = /** @type {PasskeyCredential} */ (await navigator.credentials.create({ publicKey }));
  return api.confirmPasskey(challenge, name, made.toJSON());
}
