/**
 * The demo's four prompts (the same wording as in its prompt pack), with plain text standing in the slots:
 * what the tiny models are trained on.
 */
export const demoPrompts = {
  planner: (question: string) => `plan the question : ${question}`,
  plannerWithFeedback: (question: string, feedback: string) =>
    `plan again the question : ${question} feedback : ${feedback} use it softly`,
  critic: (question: string, plan: string) => `refine the plan for question : ${question} plan : ${plan} refine it`,
  solver: (question: string, refinedPlan: string) =>
    `solve with the plan : ${refinedPlan} question : ${question} answer`,
}
