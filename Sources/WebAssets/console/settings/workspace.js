// The settings of the workspace by key, as the gateway has them: asked for once, and again after
// each change, so that two pages which show the same key agree.

const DEFAULTS = {
  widget: {
    name: null,
    accent: null,
    locale: 'auto',
    theme: 'auto',
    position: 'right',
    greeting: null,
    preview: true,
    sound: true,
    teaser: true,
  },
  hours: { always: true, time_zone: 'UTC', days: [], holidays: [] },
  greeting_message: { enabled: false, text: '' },
  away_message: { enabled: false, text: '' },
  prechat: { enabled: false, fields: [] },
  offline: { enabled: false, text: '' },
  queue: { capacity: 5, assign: 'off', reassign_after_seconds: 60, show_position: true },
  rating: { enabled: true, question: null },
};

export class Workspace {
  #rest;
  #asked = /** @type {Promise<any>?} */ (null);

  /** @param {any} rest */
  constructor(rest) { this.#rest = rest; }

  /** {settings, allowed_origins, public_key, workspace} */
  load() {
    this.#asked ??= this.#rest.get('settings').then(full, (error) => {
      this.#asked = null;
      throw error;
    });
    return this.#asked;
  }

  /**
   * @param {Record<string, any>} settings whole values by key
   * @param {{allowed_origins?: string[]?}} more
   */
  async save(settings, more = {}) {
    const answer = await this.#rest.patch('settings', { settings, ...more });
    const known = await this.load();
    const now = answer?.settings ? full(answer) : {
      ...known,
      ...more,
      settings: { ...known.settings, ...settings },
    };
    this.#asked = Promise.resolve(now);
    return now;
  }
}

/** A gateway that leaves a key out means its default. */
function full(answer) {
  const settings = { ...answer.settings };
  for (const [key, value] of Object.entries(DEFAULTS)) {
    settings[key] = { ...structuredClone(value), ...settings[key] };
  }
  return { ...answer, settings };
}
