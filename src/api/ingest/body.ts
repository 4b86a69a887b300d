const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
export const SPACE = 0x20;
/** Bytes that are looked at together. */
export const FOUR = 4;

/** In place of the position behind what was looked for. */
export const WRONG = -1;

/** A body on its way through the walk. */
export interface Body {
  bytes: Buffer;
  /** Over the same memory: four bytes are compared, looked through and copied at once. */
  view: DataView;
}

export const bodyOf = (bytes: Buffer): Body => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
});

/** Bytes that are looked for in a body. */
export interface Mark {
  length: number;
  /** All fours but the last, in their order. */
  fours: readonly number[];
  /** The last four bytes, some of which may be in the four before. */
  last: number;
}

/** @param text  ASCII, of at least `FOUR` characters */
export function markOf(text: string): Mark {
  const { view } = bodyOf(Buffer.from(text));
  const whole = Math.ceil(text.length / FOUR) - 1;
  const fours = Array.from({ length: whole }, (_, index) => view.getInt32(index * FOUR));
  return { length: text.length, fours, last: view.getInt32(text.length - FOUR) };
}

/** Whether it stands here. */
export function stands({ bytes, view }: Body, at: number, { length, fours, last }: Mark): boolean {
  if (at + length > bytes.length) return false;
  let place = at;
  for (let index = 0; index < fours.length; index++, place += FOUR)
    if (view.getInt32(place) !== fours[index]) return false;
  return view.getInt32(at + length - FOUR) === last;
}

/** The position of the first byte from here on that is no space of JSON; the length when there is none. */
export function behindSpaces({ bytes }: Body, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte > SPACE || (byte !== SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB)) break;
  }
  return at;
}

/** The position behind this byte, if it comes next, after spaces. */
export function passedByte(body: Body, from: number, byte: number): number {
  const at = behindSpaces(body, from);
  return body.bytes[at] === byte ? at + 1 : WRONG;
}
