/// Finds the routes that a path may match: those with as many segments, in the order of the table.
/// A request compares its path with a few small entries, and copies none of the table's routes,
/// whose schemas and texts belong to the document.
struct RouteIndex: Sendable {
  struct Entry: Sendable {
    /// The index into the table.
    let number: Int
    let method: String
    let isWidget: Bool
    fileprivate let parts: [Route.Part]

    /// The parameters of a path with as many segments; nil if it does not match.
    func match(_ path: [Substring]) -> PathParameters? { Route.match(path, parts) }
  }

  private let bySegments: [[Entry]]

  init(_ routes: [Route]) {
    var bySegments: [[Entry]] = []
    for (number, route) in routes.enumerated() {
      while bySegments.count <= route.parts.count { bySegments.append([]) }
      bySegments[route.parts.count].append(
        Entry(number: number, method: route.method, isWidget: route.isWidget, parts: route.parts))
    }
    self.bySegments = bySegments
  }

  func routes(segments: Int) -> [Entry] {
    bySegments.indices.contains(segments) ? bySegments[segments] : []
  }
}

extension API {
  static let routeIndex = RouteIndex(routes)
}
