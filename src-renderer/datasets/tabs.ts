/** The parts of the view of one data set, in their order. */
export const datasetTabs = {
  rows: 'Rows',
  statistics: 'Statistics',
  preview: 'Prompt preview',
  fields: 'Fields',
  problems: 'Problems',
} as const

export type DatasetTab = keyof typeof datasetTabs

export function isDatasetTab(value: unknown): value is DatasetTab {
  return typeof value === 'string' && Object.hasOwn(datasetTabs, value)
}
