// Whether the browser objects that its visitor's way through the site is sent (Global Privacy
// Control §3, Tracking Preference Expression §5).

export const objects = () => navigator.globalPrivacyControl || navigator.doNotTrack === '1';
