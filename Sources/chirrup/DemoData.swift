/// The templates of `chirrup demo-data`: names and dialogues in nine languages. They go into
/// temporary tables, from which the server generates the conversations: 100,000 take seconds, not
/// minutes.
enum DemoData {
  /// An operator of the fictional shop.
  struct Colleague {
    var name: String
    /// The relative number of conversations.
    var share: Int
    /// The multiple of the usual times until the claim and the first reply.
    var slowness: Double
    /// How many stars the ratings lack on average, roughly.
    var harshness: Double
    /// The team whose conversations they answer; nil: those of no team.
    var team: String?
  }

  /// A team, with its targets in minutes.
  struct Team {
    var name: String
    var firstResponse: Int
    var resolution: Int
  }

  static let operators = [
    Colleague(name: "Dana", share: 9, slowness: 0.6, harshness: 0.55, team: "Orders"),
    Colleague(name: "Jonas", share: 7, slowness: 1.3, harshness: 1.0, team: "Workshop"),
    Colleague(name: "Tariq", share: 6, slowness: 0.9, harshness: 0.7, team: "Orders"),
    Colleague(name: "Noor", share: 5, slowness: 0.75, harshness: 0.45, team: "Sales"),
    Colleague(name: "Freya", share: 4, slowness: 2.2, harshness: 1.6, team: "Workshop"),
    Colleague(name: "Mateo", share: 3, slowness: 1.0, harshness: 0.8, team: "Sales"),
    Colleague(name: "Ines", share: 2, slowness: 1.6, harshness: 1.2, team: "Orders"),
    Colleague(name: "Kenji", share: 2, slowness: 0.8, harshness: 0.5),
  ]

  static let teams = [
    Team(name: "Orders", firstResponse: 3, resolution: 20),
    Team(name: "Sales", firstResponse: 2, resolution: 15),
    Team(name: "Workshop", firstResponse: 5, resolution: 30),
  ]

  /// `weight` is a language's relative frequency. `moods` are the comments with one to five stars.
  /// Visitor and operator alternate; the visitor begins.
  static let templates = """
    CREATE TEMP TABLE demo_people (
      n int GENERATED ALWAYS AS IDENTITY, weight int, locale text, zone text, names text[],
      moods text[], lines text[][]);
    INSERT INTO demo_people (weight, locale, zone, names, moods, lines) VALUES
    (6, 'en-GB', 'Europe/London', '{Ruth,Oliver,Priya,Callum,Bartholomew-Alexander,Siân}',
      '{"Nobody could help me.","I had to ask twice.","Fine, but slow.",
       "Friendly and clear.","Quick, and kind. Thank you."}', '{
      {"Hello, the hose of my new brake is about 10 cm too short for a cargo bike.",
       "I see the order. The 1,600 mm hose has the same fitting, I can swap it.",
       "Could it arrive before Friday? We leave on Saturday.",
       "It leaves today, so Thursday is likely."},
      {"Where is my parcel? It said Tuesday.",
       "It is at the depot in Leeds and goes out tomorrow morning.",
       "All right, thank you.", "You are welcome."},
      {"Can I return a helmet that is too small?",
       "Yes, within 30 days, unworn. I have sent you the label.",
       "That was quick.", "Have a good ride."},
      {"Do you service hub gears?", "We do, on weekdays. It takes about four days.",
       "I will bring it on Monday then.", "I have put you down for nine."}}'),
    (4, 'en-US', 'America/Chicago', '{Maya,Wyatt,Harper,Luis,Quinn}',
      '{"Still charged twice.","Took half an hour.","Okay in the end.",
       "Good answer.","Best support I have had."}', '{
      {"The derailleur hanger you sent is the 2023 version. Mine is from 2021.",
       "Then you need part 771-B. I can exchange it for free.", "Yes, please do.",
       "Done, the tracking number is in your email."},
      {"Is the blue frame back in size M?", "Next week, eight of them.",
       "Can you hold one?", "One is held for you until the 30th."},
      {"My card was charged twice.", "One of the two is a hold and falls away in three days.",
       "Okay, I will wait.", "Write again if it is still there on Friday."},
      {"What is the weight limit of the trailer?", "45 kg including the bags.",
       "Perfect.", "Anything else?"}}'),
    (5, 'de-DE', 'Europe/Berlin', '{Anneliese,Jörg,Svenja,Matthias,Yıldız}',
      '{"Keine Lösung bekommen.","Ich musste zweimal fragen.","In Ordnung, aber langsam.",
       "Freundlich und klar.","Schnell und nett. Danke."}', '{
      {"Die Hydraulikbremsleitungsverlängerung passt nicht an meinen Rahmen.",
       "Welches Baujahr hat der Rahmen?", "2021, Größe L.",
       "Dann passt die lange. Ich tausche sie um."},
      {"Ich brauche eine Rechnung mit anderer Anschrift.",
       "Gern. Wie lautet die Anschrift?", "Sie steht jetzt im Kundenkonto.",
       "Die neue Rechnung ist unterwegs."},
      {"Wann öffnet die Werkstatt am Samstag?", "Um zehn, bis vierzehn Uhr.",
       "Danke!", "Bis Samstag."},
      {"Kann ich die Lieferung auf Montag verschieben?", "Ja, ist geändert.",
       "Wunderbar.", "Gute Fahrt."}}'),
    (3, 'fr-FR', 'Europe/Paris', '{Amélie,Théo,Chloé,Noé}',
      '{"Aucune réponse utile.","Trop long.","Correct, sans plus.",
       "Clair et aimable.","Rapide et très gentil, merci."}', '{
      {"Bonjour, quelles plaquettes pour un vélo cargo ?",
       "Les plaquettes frittées, référence 412.", "Elles sont en stock ?",
       "Oui, expédition demain."},
      {"Mon colis est arrivé ouvert.", "Pouvez-vous envoyer une photo ?",
       "Je l''ai envoyée par courriel.", "Merci, un nouveau part aujourd''hui."},
      {"Puis-je payer en trois fois ?", "À partir de 300 €, oui.",
       "Parfait.", "Bonne journée."},
      {"Faites-vous l''entretien annuel ?", "Oui, sur rendez-vous.",
       "Jeudi à neuf heures ?", "C''est noté."}}'),
    (3, 'es-ES', 'Europe/Madrid', '{Tomás,Lucía,Íñigo,Carmen}',
      '{"No me han ayudado.","Tuve que preguntar dos veces.","Bien, pero lento.",
       "Amable y claro.","Rápido y muy amable. Gracias."}', '{
      {"¿Puede enviar una foto del número de serie?", "Claro, está en su correo.",
       "Gracias, ahora coincide.", "Me alegro."},
      {"El sillín hace ruido desde ayer.", "Apriete el tornillo de la abrazadera a 6 Nm.",
       "Ya no suena.", "Estupendo."},
      {"¿Hay taller los sábados?", "Sí, de diez a dos.", "Allí estaré.", "Hasta el sábado."},
      {"¿Cuándo llega mi pedido?", "El miércoles por la mañana.", "Perfecto.", "Buen día."}}'),
    (2, 'ar-EG', 'Africa/Cairo', '{ليلى,عمر,نور,يوسف}',
      '{"لم أحصل على حل.","انتظرت طويلًا.","جيد لكنه بطيء.",
       "واضح ولطيف.","سريع ولطيف، شكرًا."}', '{
      {"مرحبًا، أين طلبي رقم 20533؟", "خرج للتوصيل صباح اليوم.", "شكرًا جزيلًا.",
       "على الرحب والسعة."},
      {"هل يمكن تغيير العنوان؟", "نعم، ما هو العنوان الجديد؟", "شارع النيل 12.", "تم التغيير."},
      {"المقاس صغير جدًا.", "يمكننا استبداله مجانًا.", "ممتاز.", "أرسلنا لك الملصق."},
      {"هل لديكم خوذة للأطفال؟", "نعم، بثلاثة مقاسات.", "سأطلب واحدة.", "أهلًا بك."}}'),
    (3, 'ja-JP', 'Asia/Tokyo', '{ニコ,さくら,健太,美咲}',
      '{"解決しませんでした。","待ち時間が長かったです。","普通でした。",
       "わかりやすかったです。","とても早くて親切でした。"}', '{
      {"返品の方法を教えてください", "30日以内でしたら無料です。", "ラベルはどこですか？", "メールでお送りしました。"},
      {"ブレーキから音がします。", "パッドの番号を教えてください。", "412です。", "新しいものをお送りします。"},
      {"土曜日は開いていますか？", "はい、10時からです。", "ありがとうございます。", "お待ちしております。"},
      {"領収書を再発行できますか？", "はい、すぐにお送りします。", "届きました。", "よい一日を。"}}'),
    (2, 'th-TH', 'Asia/Bangkok', '{สมหญิง,ธนา,มาลี,กิตติ}',
      '{"ไม่ได้คำตอบ","รอนานเกินไป","พอใช้",
       "ตอบชัดเจนดี","เร็วและใจดีมาก ขอบคุณค่ะ"}', '{
      {"ขอใบกำกับภาษีได้ไหมคะ", "ได้ค่ะ ขอชื่อบริษัทด้วยค่ะ", "ส่งทางอีเมลแล้วค่ะ",
       "ได้รับแล้วค่ะ ขอบคุณค่ะ"},
      {"สายเบรกสั้นไปประมาณ 10 ซม.", "เปลี่ยนเป็นเส้นยาวให้ได้ครับ", "ใช้เวลากี่วันครับ",
       "สองวันครับ"},
      {"ร้านเปิดกี่โมงคะ", "เก้าโมงค่ะ", "ขอบคุณค่ะ", "ยินดีค่ะ"},
      {"สินค้าหมดหรือยังครับ", "เหลือสองชิ้นครับ", "ขอจองหนึ่งชิ้นครับ", "จองให้แล้วครับ"}}'),
    (2, 'pl-PL', 'Europe/Warsaw', '{Paweł,Zofia,Łukasz,Małgorzata}',
      '{"Nikt mi nie pomógł.","Musiałem pytać dwa razy.","W porządku, ale wolno.",
       "Miło i jasno.","Szybko i uprzejmie. Dziękuję."}', '{
      {"Gdzie jest mój zwrot?", "Zwrot został przyjęty, pieniądze wrócą w trzy dni.",
       "Dziękuję.", "Miłego dnia."},
      {"Czy macie klocki hamulcowe 412?", "Tak, dwanaście par.", "Poproszę dwie.",
       "Wysyłamy dziś."},
      {"Nie mogę się zalogować.", "Wysłałam link do zmiany hasła.", "Działa.", "Świetnie."},
      {"Kiedy przegląd?", "W poniedziałek o dziewiątej.", "Będę.", "Do zobaczenia."}}'),
    (2, 'vi-VN', 'Asia/Ho_Chi_Minh', '{Hứa,Ngọc,Đức,Thảo}',
      '{"Không giải quyết được.","Phải chờ quá lâu.","Tạm được.",
       "Rõ ràng và thân thiện.","Nhanh và rất tử tế. Cảm ơn."}', '{
      {"Khi nào đơn hàng của tôi đến?", "Ngày mai, trước 12 giờ.", "Cảm ơn bạn.", "Không có gì."},
      {"Tôi muốn đổi màu khung.", "Màu xanh vẫn còn.", "Tôi lấy màu xanh.", "Đã đổi xong."},
      {"Có bảo hành không?", "Hai năm.", "Tuyệt.", "Chúc bạn một ngày tốt lành."},
      {"Tôi cần hóa đơn.", "Đã gửi qua email.", "Đã nhận.", "Cảm ơn bạn đã chờ."}}');
    CREATE TEMP TABLE demo_places (
      n int GENERATED ALWAYS AS IDENTITY, page text, title text, tag text);
    INSERT INTO demo_places (page, title, tag) VALUES
      ('/brakes/hydraulic', 'Hydraulic brakes', 'brakes'), ('/cart', 'Your cart', 'order'),
      ('/help/returns', 'Returns', 'return'), ('/account/invoices', 'Invoices', 'invoice'),
      ('/repair', 'Workshop', 'workshop'), ('/brakes/hydraulic/hose-kits', 'Hose kits', 'brakes'),
      ('/trailers', 'Trailers', 'sales'), ('/orders/20418', 'Order 20418', 'delivery');
    CREATE TEMP TABLE demo_agents (n int GENERATED ALWAYS AS IDENTITY, agent text);
    INSERT INTO demo_agents (agent) VALUES
      ('Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'),
      ('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.5 Safari/605.1.15'),
      ('Mozilla/5.0 (Linux; Android 15) Chrome/142.0.0.0 Mobile Safari/537.36'),
      ('Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0');
    CREATE TEMP TABLE demo_teams (id uuid, name text, response int, resolution int);
    CREATE TEMP TABLE demo_staff (
      id uuid, name text, slowness float8, harshness float8, low float8, high float8, team uuid);
    CREATE TEMP TABLE demo_hours (
      at timestamptz, busy float8, low float8 PRIMARY KEY, high float8);
    CREATE TEMP TABLE demo_rows (
      n bigint, id uuid, visitor uuid, status text, people int, talk int, name text, place int,
      agent int, operator_id uuid, operator_name text, first_id uuid, first_name text,
      created_at timestamptz, claimed_at timestamptz, replied_at timestamptz,
      closed_at timestamptz, shown int, rating int, moved int,
      team uuid);
    """

  /// Cumulated weights of the hours from 90 days to 2 hours ago; later conversations might close in
  /// the future. A shop is busiest at eleven, in the early afternoon and in the evening, and on
  /// Mondays; it grows slowly, and had a sale three weeks ago. `$1` is the workspace: its time zone
  /// is the shop's.
  static let hours: StaticString = """
    WITH zone AS (
      SELECT coalesce((SELECT value::jsonb ->> 'time_zone' FROM system_settings
        WHERE workspace_id = $1::uuid AND key = 'hours'), 'UTC') AS name
    ), hours AS (
      SELECT at, at AT TIME ZONE zone.name AS there,
        extract(epoch FROM date_trunc('hour', now()) - at) / 86400 AS days
      FROM zone, generate_series(date_trunc('hour', now()) - interval '90 days',
        date_trunc('hour', now()) - interval '3 hours', interval '1 hour') AS at
    ), weighed AS (
      SELECT at, (ARRAY[6, 3, 2, 2, 2, 4, 10, 22, 52, 90, 128, 140, 96, 92, 124, 116, 104, 92, 84,
          98, 110, 74, 36, 14])[1 + extract(hour FROM there)::int]
        * (ARRAY[1.3, 1.12, 1.05, 1, 0.94, 0.66, 0.36])[extract(isodow FROM there)::int]
        * (1.25 - days / 360) * CASE WHEN floor(days) IN (21, 22) THEN 1.8 ELSE 1 END AS weight
      FROM hours
    ), placed AS (
      SELECT at, weight / max(weight) OVER () AS busy,
        sum(weight) OVER (ORDER BY at) / sum(weight) OVER () AS high,
        weight / sum(weight) OVER () AS share
      FROM weighed
    )
    INSERT INTO demo_hours SELECT at, busy, high - share, high FROM placed
    """
}
