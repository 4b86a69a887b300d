const roundFloatError = (value: number) => Number(value.toPrecision(12));

/** Three to nine round numbers at equal steps. */
export function axisTicks(low: number, high: number): number[] {
  const span = Math.max(high - low, 1e-9);
  const power = 10 ** Math.floor(Math.log10(span));
  const step = [0.2, 0.5, 1].map((part) => part * power).find((each) => span / each <= 6) ?? power * 2;
  const first = Math.floor(roundFloatError(low / step));
  const last = Math.max(first + 1, Math.ceil(roundFloatError(high / step)));
  return Array.from({ length: last - first + 1 }, (_, n) => roundFloatError((first + n) * step));
}

/** Rounded to a tenth of a pixel. */
export const createAxisScale =
  (low: number, high: number, from: number, to: number) =>
  (value: number): number =>
    Math.round((from + ((value - low) / (high - low)) * (to - from)) * 10) / 10;
