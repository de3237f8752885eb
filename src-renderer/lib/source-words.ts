/** Where something of the library came from, in words. */
import type { LibrarySource } from '../../src-main/bridge/contract'

export function sourceInWords(source: LibrarySource): string {
  switch (source.kind) {
    case 'hub':
      return `${source.name} on ${source.endpoint.replace(/^https?:\/\//, '')}`
    case 'imported':
      return `brought in from ${source.from}`
    case 'project':
      return `project ${source.project}`
    case 'derived':
      return `made from ${source.from}: ${source.how}`
    case 'file':
      return source.path
    case 'unknown':
      return 'origin not known'
  }
}
