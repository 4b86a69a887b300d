import { isAscii, isUtf8 } from "node:buffer";
import { ApiError } from "../http/errors.ts";
import { refuseExcessiveJson } from "./refuse-excessive-json.ts";

export interface JsonBody {
  text: string;
  value: unknown;
  /** ASCII without backslashes and DEL, so no string has escapes or control characters. */
  isPlainAscii: boolean;
}

const BACKSLASH = 0x5c;
const DEL = 0x7f;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

const isPlainAscii = (body: Buffer) => isAscii(body) && !body.includes(BACKSLASH) && !body.includes(DEL);

/** Throws a 400 that repeats no part of the body. */
export function readJson(body: Buffer): JsonBody {
  const ascii = isAscii(body);
  if (!ascii && !isUtf8(body)) throw new ApiError(400, "the body must be UTF-8");
  if (body.subarray(0, 3).equals(BOM)) throw new ApiError(400, "the body must not begin with a byte order mark");
  const text = ascii ? body.toString("latin1") : body.toString("utf8");
  refuseExcessiveJson(text);
  return { text, value: parseJson(text), isPlainAscii: isPlainAscii(body) };
}

function parseJson(text: string): unknown {
  if (text.length === 0) throw new ApiError(400, "the body is empty: send JSON");
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the error, which may hold secrets.
    const position = /at position (\d+)/.exec(String(error))?.[1];
    throw new ApiError(
      400,
      position ? `the body is not valid JSON, at character ${position}` : "the body is not valid JSON",
    );
  }
}
