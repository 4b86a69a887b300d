/** Parses an RFC 4180 file whose cells hold no line breaks. Returns rows by column names. */
export function parseCsvRows(text: string): Record<string, string>[] {
  const [head, ...lines] = text
    .replace(/^\ufeff/, "")
    .trimEnd()
    .split("\r\n");
  const names = head!.split(",");
  return lines.map((line) => {
    const cells = (line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? []).map((cell) => cell.replace(/,$/, ""));
    return Object.fromEntries(
      names.map((name, index) => [name, cells[index]?.replace(/^"|"$/g, "").replaceAll('""', '"') ?? ""]),
    );
  });
}
