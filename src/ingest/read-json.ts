import { isAscii, isUtf8 } from "node:buffer";
import { ApiError } from "../http/errors.ts";
import { refuseExcessiveJson } from "./refuse-excessive-json.ts";

/** A body as text and as a value. */
export interface JsonBody {
  text: string;
  value: unknown;
  /** See `isPlainAscii`. */
  plain: boolean;
}

const BACKSLASH = 0x5c;
const DEL = 0x7f;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** ASCII without a backslash or DEL: when it is JSON, no string in it holds an escape, a control character or a lone surrogate. */
const isPlainAscii = (body: Buffer) => isAscii(body) && !body.includes(BACKSLASH) && !body.includes(DEL);

/** Read a body as JSON. Throws a 400 that says what is wrong and repeats nothing of it. */
export function readJson(body: Buffer): JsonBody {
  const ascii = isAscii(body);
  if (!ascii && !isUtf8(body)) throw new ApiError(400, "the body must be UTF-8");
  if (body.subarray(0, 3).equals(BOM)) throw new ApiError(400, "the body must not begin with a byte order mark");
  const text = ascii ? body.toString("latin1") : body.toString("utf8");
  refuseExcessiveJson(text);
  return { text, value: parseJson(text), plain: isPlainAscii(body) };
}

function parseJson(text: string): unknown {
  if (text.length === 0) throw new ApiError(400, "the body must be JSON, and is empty");
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the fault, which may be anything; only the place is passed on.
    const place = /at position (\d+)/.exec(String(error))?.[1];
    throw new ApiError(400, place ? `the body is not valid JSON, at character ${place}` : "the body is not valid JSON");
  }
}
