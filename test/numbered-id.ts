/** Returns a UUIDv7 with a number instead of randomness: later ones are greater. */
export function numberedId(ms: number, number: number): string {
  const time = ms.toString(16).padStart(12, "0");
  const digits = number.toString(16).padStart(15, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6).padStart(12, "0")}`;
}
