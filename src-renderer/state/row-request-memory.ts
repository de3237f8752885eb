/** What a person filters, searches and sorts a file of a data set by, remembered by the names of the columns. */
import type { OpenedDataset, RowOrderRequest } from '../../src-main/bridge/contract'
import { isNamedRequest, isPlain, namedRequest, plainOrder, requestOf, type NamedRequest } from '../lib/row-conditions'
import { DatasetMemory } from './dataset-memory'

const requests = new DatasetMemory<NamedRequest>('datasets/filters', isNamedRequest)
const keyOf = ({ id, file }: OpenedDataset): string => `${id}\n${file}`

/** Without what stands on columns that the file does not have any more. */
export function rememberedRequest(opened: OpenedDataset): RowOrderRequest {
  const named = requests.recall(keyOf(opened))
  return named ? requestOf(named, opened.columns) : plainOrder
}

export function rememberRequest(opened: OpenedDataset, request: RowOrderRequest): void {
  requests.remember(keyOf(opened), isPlain(request) ? undefined : namedRequest(request, opened.columns))
}
