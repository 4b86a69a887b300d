type Verdict = "ok" | "warn" | "fail";

/** The result of one check of `doctor`. */
export interface Finding {
  verdict: Verdict;
  what: string;
  says: string;
}

export const finding = (verdict: Verdict, what: string, says: string): Finding => ({ verdict, what, says });
