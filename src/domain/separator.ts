/** What may stand between columns. Programs write semicolons where their country's decimals have commas, and tabs into what is pasted. */
const SEPARATORS = [",", ";", "\t"];

/** What stands between the columns of a text, by its first line that is not empty: the sign that is in it most often, outside of quoted names. */
export function separatorOf(text: string): string {
  const [heading = ""] = text.trimStart().split(/[\r\n]/, 1);
  const bare = heading.replace(/"[^"]*("|$)/g, "");
  const columns = (sign: string) => bare.split(sign).length;
  return SEPARATORS.reduce((most, sign) => (columns(sign) > columns(most) ? sign : most));
}
