import { isRefusal } from "../kit/push-splitting.ts";

const FUTURE = /in the future/;

/** Returns an error's text for the console and the log. */
export function describeProblem(error: unknown): string {
  const text = String(error);
  if (!isRefusal(error) || !FUTURE.test(text)) return text;
  return `${text}. Stripe dates this object in the future, as a test clock does that is ahead of the present time. Dunlin cannot handle such objects until then.`;
}
