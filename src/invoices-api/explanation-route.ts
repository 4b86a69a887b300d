import type { FastifyRequest } from "fastify";
import type { Case } from "../domain/case.ts";
import { END_REASON_PREFIX } from "../domain/event.ts";
import { buildExplanation } from "../explain/answers.ts";
import { joinHeadline } from "../explain/invoice-headline.ts";
import { summarizeInvoice } from "../explain/invoice-summary.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import type { Api } from "../http/api.ts";
import { explanatoryDecisions } from "../tables/decisions.ts";
import { checkedId, unknownInvoiceError } from "./invoice-requests-routes.ts";
import { EXPLANATION_PATH, EXPLANATION_ROUTE } from "./paths.ts";

export const RECOVERY_STATES = ["RECOVERY_OPEN", "RECOVERY_OBSERVED", "RECOVERY_ENDED", "RECOVERY_NONE"] as const;

function recoveryStateOf(recoveryCase: Pick<Case, "arm" | "endReason"> | null): (typeof RECOVERY_STATES)[number] {
  if (recoveryCase === null) return "RECOVERY_NONE";
  if (recoveryCase.endReason !== null) return "RECOVERY_ENDED";
  return recoveryCase.arm === "dunlin" ? "RECOVERY_OPEN" : "RECOVERY_OBSERVED";
}

/** Returns what `dunlin explain` prints about an invoice. */
export function explanationRoute(api: Api) {
  const onRequest = api.requires("read:explanations");
  const config = { family: "list", path: EXPLANATION_PATH };
  api.http.get(EXPLANATION_ROUTE, { onRequest, config }, async (request: FastifyRequest) => {
    const { id: merchantId } = request.caller!.merchant;
    const invoiceId = checkedId((request.params as { invoiceId: string }).invoiceId);
    const db = api.tenantDb.of(merchantId);
    const explained = await loadExplainedCase(db, merchantId, invoiceId, api.ports.now(), explanatoryDecisions);
    if (!explained) throw unknownInvoiceError();
    const { timeZone, headline, lines } = summarizeInvoice(explained);
    const answers = buildExplanation(explained).filter(({ applies }) => applies);
    return {
      invoiceId,
      recovery: recoveryStateOf(explained.case),
      endReason: explained.case?.endReason ? END_REASON_PREFIX + explained.case.endReason.toUpperCase() : null,
      timeZone,
      headline: joinHeadline(headline),
      summary: lines,
      answers: answers.map(({ question, answer }) => ({ question, sentences: answer })),
    };
  });
}
