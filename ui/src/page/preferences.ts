/** What the reader likes, on this machine; a page from disk may have no place to keep it. */

export function loadPreference(key: string): string | null {
  try {
    return localStorage.getItem(`sonde.${key}`);
  } catch {
    return null;
  }
}

export function savePreference(key: string, value: string): void {
  try {
    localStorage.setItem(`sonde.${key}`, value);
  } catch {
    // Then it holds for this page only.
  }
}
